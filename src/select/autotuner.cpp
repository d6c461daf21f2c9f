#include "select/autotuner.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Ranks exchange a time for each candidate in one round, which needs no progress by a rank between start and wait.
shape publishing_shape(int ranks, std::size_t candidates) noexcept {
  const auto bytes = candidates * sizeof(seconds);
  const auto all = static_cast<std::uint64_t>(ranks) * bytes;
  return {.ranks = ranks,
          .kind = exchange::form::alltoallv,
          .max_block_bytes = bytes,
          .min_block_bytes = bytes,
          .max_rank_bytes = all,
          .max_received_bytes = all};
}
options publishing_options(int ranks) noexcept { return {.in_flight = ranks}; }

}  // namespace

autotuner::autotuner(std::pmr::vector<prepared_candidate>&& all, mpi::communicator& comm, int tag,
                     memory_budget& budget)
    : all_(std::move(all)),
      times_(all_.size(), tries, trial::order::in_turn),
      reported_(all_.size() * as_size(comm.size()), &budget) {
  const auto n = static_cast<count_t>(all_.size());
  const shape s = publishing_shape(comm.size(), all_.size());
  const options o = publishing_options(comm.size());
  publishing_ = prepare_operation(
      spread_out,
      exchange::alltoallv(times_.best().data(), count_view(n, 0), count_view(0, 0), MPI_DOUBLE, reported_.data(),
                          count_view(n, 0), count_view(0, n), MPI_DOUBLE, comm.get()),
      {.comm = &comm, .tag = tag, .shape = &s, .opts = &o, .reused = true}, budget);
}

std::size_t autotuner::overhead(int ranks, std::size_t candidates) noexcept {
  return sizeof(autotuner) + candidates * sizeof(prepared_candidate) + as_size(ranks) * candidates * sizeof(seconds) +
         spread_out.memory(publishing_shape(ranks, candidates), publishing_options(ranks));
}

void autotuner::begin() {
  if (publishing_ != nullptr && starts_ > times_.calls()) keep_the_fastest();
  if (publishing_ != nullptr) current_ = reports() ? 0 : times_.candidate(starts_);
  if (reports()) publishing_->start();
  phase_ = phase::exchanging;
  started_at_ = PMPI_Wtime();
}

void autotuner::keep_the_fastest() {
  std::swap(all_.front(), all_[times_.decide(reported_)]);
  all_.erase(all_.begin() + 1, all_.end());
  publishing_.reset();
  current_ = 0;
}

// The candidate is done. The exchange of the ranks' times completes with these.
bool autotuner::end(bool block) {
  if (phase_ == phase::exchanging && publishing_ != nullptr && !reports()) {
    times_.took(current_, PMPI_Wtime() - started_at_);
    ++starts_;
  } else if (phase_ != phase::idle && reports()) {
    phase_ = phase::publishing;
    if (block) publishing_->wait();
    if (!block && !publishing_->test()) return false;
    ++starts_;
  }
  phase_ = phase::idle;
  return true;
}

void autotuner::start() {
  begin();
  all_[current_].operation->start();
}

bool autotuner::test() {
  if (phase_ == phase::exchanging && !all_[current_].operation->test()) return false;
  if (phase_ != phase::idle && !end(false)) return false;
  return true;
}

void autotuner::wait() {
  if (phase_ == phase::exchanging) all_[current_].operation->wait();
  end(true);
}

void autotuner::run() {
  begin();
  all_[current_].operation->run();
  end(true);
}

void autotuner::account(statistics& s) const { all_[current_].operation->account(s); }

std::vector<candidate_plan> candidates(std::span<const algorithm* const> ranking, const shape& s, const options& o,
                                       std::size_t limit) {
  constexpr std::size_t most_algorithms = 4;
  std::vector<candidate_plan> few;
  std::size_t memory = 0;
  const auto take = [&](const algorithm* a, const options& own) {
    const std::size_t needed = a->memory(s, own);
    const std::size_t beside = autotuner::overhead(s.ranks, few.size() + 1);
    if (beside > limit || memory + needed > limit - beside) return;
    memory += needed;
    few.push_back({a, own, needed});
  };
  const bool own = std::ranges::find(ranking, &native) != ranking.end();
  const auto has_native = [&] { return std::ranges::find(few, &native, &candidate_plan::what) != few.end(); };
  for (const algorithm* a : ranking) {
    if (few.size() + (own && !has_native() ? 1 : 0) == most_algorithms) break;
    take(a, o);
  }
  if (own && !has_native()) take(&native, o);
  for (std::size_t i = 0, algorithms = few.size(); i < algorithms && few.size() < autotuner::most; ++i)
    if (const algorithm* a = few[i].what; a->variant != nullptr)
      if (const auto other = a->variant(s, o)) take(a, *other);
  return few;
}

}  // namespace taquin::detail
