#include "interpose/serve/start_service.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/sizes.hpp"
#include "interpose/reasons.hpp"
#include "interpose/serve/kept_service.hpp"
#include "interpose/serve/kept_trials.hpp"
#include "mpi/check.hpp"

namespace taquin::interpose {

using detail::as_size;

namespace {

constexpr int most_started_ranks = 64;  // with more, slots have room for few bytes

agreed_slots::demands each_with_each(std::size_t ranks, std::size_t user_bytes, const remembered& outcomes) {
  agreed_slots::demands d{.edges = {}, .user_bytes = user_bytes, .each_with_each = true, .outcomes = outcomes};
  d.edges.sources.resize(ranks);
  std::iota(d.edges.sources.begin(), d.edges.sources.end(), 0);
  d.edges.destinations = d.edges.sources;
  return d;
}

kept_trials& kept_starts() noexcept { return kept_trials::of(kept_trials::form::starts); }

}  // namespace

std::shared_ptr<start_service> start_service::of(MPI_Comm comm) {
#if !defined(OPEN_MPI) && !defined(MPICH)  // MPI's standard ABI, with which this is not tested
  return nullptr;
#endif
  if (!agreed_slots::possible()) return nullptr;
  if (auto found = kept_service<start_service>::find(comm)) return found;
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  if (ranks == 1 || ranks > most_started_ranks) return nullptr;
  std::shared_ptr<start_service> made(new start_service(rank, ranks));
  if (!agreed_slots::on_one_node(comm)) made->slots_.give_up(reasons::several_nodes);
  return kept_service<start_service>::keep(comm, std::move(made));
}

const char* start_service::reason_without() {
  return agreed_slots::possible() ? reasons::ranks : agreed_slots::reason_without();
}

void start_service::forget(MPI_Comm comm) { kept_service<start_service>::forget(comm); }

std::size_t start_service::kind_of(const exchange& x) noexcept {
  if (x.kind == exchange::form::alltoallv) return 0;
  if (x.kind == exchange::form::alltoallw) return 1;
  return std::min<std::size_t>(first_kinds + std::bit_width(static_cast<std::uint64_t>(x.send.bytes(0))), kinds - 1);
}

bool start_service::is_long(const exchange& x, const neighbourhood& n) noexcept {
  return x.kind == exchange::form::alltoall && as_size(x.send.bytes(0)) > n.most_in_slot();
}

// Without a trial the MPI library wins for ever, unless the blocks may change.
std::uint64_t start_service::joins_after(const remembered& all, std::size_t kind) noexcept {
  if (all.library_won(kind)) return kind < first_kinds ? start_trial::again : agreed_slots::never;
  return all.taquin_won(kind) && all.early != 0 ? 0 : agreed_slots::tries;
}

void start_service::prepare(MPI_Comm comm, const exchange& x) {
  const std::size_t kind = kind_of(x);
  slots_.prepare(
      comm,
      [this] { return each_with_each(ranks(), sizeof(start_trial::shared) * kinds, kept_starts().recall(ranks_)); },
      [kind](const remembered& all) { return joins_after(all, kind); });
  adopt(kind);
}

void start_service::adopt(std::size_t kind) noexcept {
  const remembered all = slots_.outcomes();
  if (!all.taquin_won(kind) && !all.library_won(kind)) return;
  const trial_times times = kept_starts().times(ranks_, kind);
  trials_[kind].adopt(all.taquin_won(kind), {times.library, times.taquin});
}

std::shared_ptr<neighbourhood> start_service::candidate(const exchange& x) const noexcept {
  if (trials_[kind_of(x)].is_lost()) return nullptr;
  auto slots = slots_.candidate();
  return slots == nullptr || is_long(x, *slots) ? nullptr : slots;
}

start_service::turn start_service::next(MPI_Comm comm, const exchange& x) {
  const bool by_slots = slots_.start(comm);
  const std::size_t kind = kind_of(x);
  if (slots_.starts() == kept_trials::many) kept_starts().used(ranks_, kept_trials::many);
  if (!by_slots && slots_.outcomes().library_won(kind)) return {{}, kind, reasons::trial_lost, last_times(kind)};
  if (!by_slots) return {{}, 0, slots_.reason(), {}};
  if (is_long(x, *slots())) return {{}, 0, reasons::long_blocks, {}};
  const auto user_area = [&](int rank) -> start_trial::shared& {
    return reinterpret_cast<start_trial::shared*>(slots_.user_area(rank))[kind];
  };
  start_trial& trial = trials_[kind];
  turn t = [&]() -> turn {
    const std::lock_guard lock(timing_);
    return {trial.next(rank_, ranks_, kind < first_kinds, user_area), kind};
  }();
  if (t.decides) kept_starts().keep(ranks_, kind, trial.slots_won(), last_times(kind));
  if (t.by_slots) return t;
  t.reason = t.timed ? reasons::trial : reasons::trial_lost;
  if (!t.timed) t.lost = last_times(kind);
  return t;
}

trial_times start_service::last_times(std::size_t kind) const noexcept {
  const auto& times = trials_[kind].last_times();
  return {times[start_trial::library], times[start_trial::slots]};
}

void start_service::communicator_is_freed() noexcept {
  if (slots_.starts() < kept_trials::many) kept_starts().used(ranks_, slots_.starts());
  slots_.give_up();
}

void start_service::took(const turn& t, double seconds) noexcept {
  const std::lock_guard lock(timing_);
  trials_[t.kind].took(t, seconds);
}

outcome start_service::by_slots() const { return {"neighbour_slots", {}, slots()->memory()}; }

}  // namespace taquin::interpose
