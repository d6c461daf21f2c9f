#include "interpose/serve/kept_trials.hpp"

#include <array>
#include <cstddef>
#include <new>

namespace taquin::interpose {

kept_trials& kept_trials::of(form f) noexcept {
  constexpr std::size_t forms = 3;
  struct all {
    std::array<kept_trials, forms> by_form;
  };
  alignas(all) static std::array<std::byte, sizeof(all)> place;
  static all* const made = new (place.data()) all;
  return made->by_form[static_cast<std::size_t>(f)];
}

remembered kept_trials::recall(int ranks) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = by_ranks_.find(ranks);
  if (found == by_ranks_.end()) return {};
  kept& one = found->second;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (one.outcomes.taquin_won(kind) || one.outcomes.library_won(kind)) ++one.used[kind];
    if (one.used[kind] > uses) one.outcomes.forget(kind);
  }
  return one.outcomes;
}

bool kept_trials::early(int ranks) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = by_ranks_.find(ranks);
  return found != by_ranks_.end() && found->second.outcomes.early != 0;
}

trial_times kept_trials::times(int ranks, std::size_t kind) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = by_ranks_.find(ranks);
  return found == by_ranks_.end() ? trial_times{} : found->second.times[kind];
}

void kept_trials::keep(int ranks, std::size_t kind, bool taquin_won, const trial_times& times) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    kept& one = by_ranks_[ranks];
    one.outcomes.won(kind, taquin_won);
    one.times[kind] = times;
    one.used[kind] = 0;
  } catch (const std::bad_alloc&) {
  }
}

void kept_trials::used(int ranks, std::uint64_t calls) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    by_ranks_[ranks].outcomes.early = calls >= many ? 1 : 0;
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace taquin::interpose
