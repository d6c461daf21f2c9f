#include "select/autotuner.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "mpi/check.hpp"
#include "schedule/collectives.hpp"
#include "schedule/executor.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

autotuner::autotuner(std::pmr::vector<prepared_candidate>&& all, const mpi::communicator& comm, int tag,
                     std::pmr::memory_resource* memory)
    : all_(std::move(all)), mine_(all_.size() * tries, memory), agreed_(mine_.size(), memory) {
  agreement_ = make_operation<executor>(
      *memory,
      build_collective(collective::allreduce, comm.rank(), comm.size(), 0, static_cast<count_t>(mine_.size()),
                       element::of(MPI_DOUBLE), memory),
      execution{.comm = comm.get(), .tag = tag, .send = mine_.data(), .recv = agreed_.data(), .op = MPI_MAX}, memory);
}

std::size_t autotuner::overhead(int ranks, std::size_t candidates) noexcept {
  const std::size_t times = candidates * tries * sizeof(seconds);
  return sizeof(autotuner) + candidates * sizeof(prepared_candidate) + 2 * times +
         executor::footprint(allreduce_size(ranks), times);
}

void autotuner::begin() {
  if (agreement_ != nullptr && starts_ == mine_.size()) keep_the_fastest();
  if (agreement_ != nullptr) current_ = starts_ % all_.size();
  phase_ = phase::exchanging;
  begun_ = MPI_Wtime();
}

// The first start brings into memory what the others find there, and other programs only slow down: the best is true.
void autotuner::keep_the_fastest() {
  const std::size_t n = all_.size();
  for (std::size_t i = n; i < agreed_.size(); ++i) agreed_[i % n] = std::min(agreed_[i % n], agreed_[i]);
  const auto best = std::min_element(agreed_.begin(), agreed_.begin() + static_cast<std::ptrdiff_t>(n));
  std::swap(all_.front(), all_[static_cast<std::size_t>(best - agreed_.begin())]);
  all_.erase(all_.begin() + 1, all_.end());
  agreement_.reset();
  current_ = 0;
}

// The candidate is done. After the last start that is measured ranks tell each other their times.
bool autotuner::end(bool block) {
  if (phase_ == phase::exchanging && agreement_ != nullptr) {
    mine_[starts_++] = MPI_Wtime() - begun_;
    if (starts_ == mine_.size()) {
      phase_ = phase::agreeing;
      agreement_->start();
    }
  }
  if (phase_ == phase::agreeing) {
    if (block) agreement_->wait();
    if (!agreement_->test()) return false;
  }
  phase_ = phase::idle;
  return true;
}

void autotuner::start() {
  begin();
  all_[current_].body->start();
}

// A candidate that was sent too much is over all the same, on this rank alone: the others are about to tell their times.
template <class Step>
bool autotuner::candidate_ends(Step step) {
  try {
    return step(*all_[current_].body);
  } catch (const error& e) {
    if (mpi::is_left_in_the_middle(e)) throw;
    failure_ = std::current_exception();
    return true;
  }
}

void autotuner::tell_failure() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool autotuner::test() {
  if (phase_ == phase::exchanging && !candidate_ends([](operation& o) { return o.test(); })) return false;
  if (phase_ != phase::idle && !end(false)) return false;
  tell_failure();
  return true;
}

void autotuner::wait() {
  if (phase_ == phase::exchanging)
    candidate_ends([](operation& o) {
      o.wait();
      return true;
    });
  end(true);
  tell_failure();
}

void autotuner::run() {
  begin();
  candidate_ends([](operation& o) {
    o.run();
    return true;
  });
  end(true);
  tell_failure();
}

void autotuner::account(statistics& s) const { all_[current_].body->account(s); }

std::vector<const algorithm*> candidates(std::span<const algorithm* const> ranking, const shape& s, const options& o,
                                         std::size_t limit) {
  constexpr std::size_t most = 4;
  std::vector<const algorithm*> few;
  std::size_t memory = 0;
  const auto take = [&](const algorithm* a) {
    const std::size_t needed = a->memory(s, o);
    const std::size_t beside = autotuner::overhead(s.ranks, few.size() + 1);
    if (beside > limit || memory + needed > limit - beside) return;
    memory += needed;
    few.push_back(a);
  };
  const bool own = std::ranges::find(ranking, &native) != ranking.end();
  for (const algorithm* a : ranking) {
    const bool reserved = own && std::ranges::find(few, &native) == few.end();
    if (few.size() + (reserved ? 1 : 0) == most) break;
    take(a);
  }
  if (own && std::ranges::find(few, &native) == few.end()) take(&native);
  return few;
}

}  // namespace taquin::detail
