// The body of a plan that measures: the best few candidates run the plan's first starts in turn, then the fastest
// stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"
#include "schedule/operation.hpp"

namespace taquin::detail {

/// An algorithm and what it prepared.
struct prepared_candidate {
  const algorithm* what = nullptr;
  operation_ptr body;
};

/// Each candidate runs `tries` starts, in turn. The last of these exchanges is complete when all ranks have told each
/// other their times; the next start frees all candidates but the fastest. A start took as long as on its slowest
/// rank, a candidate as long as its best start. Ties go to the first.
class autotuner final : public operation {
 public:
  static constexpr int tries = 3;

  /// The same candidates in the same order on all ranks. `tag` is for the times. Everything is taken from `memory`.
  /// Local.
  autotuner(std::pmr::vector<prepared_candidate>&& all, const mpi::communicator& comm, int tag,
            std::pmr::memory_resource* memory);

  void start() override;
  bool test() override;
  void wait() override;
  void run() override;
  void account(statistics& s) const override;

  /// Of the exchange that was started last, or will be first.
  [[nodiscard]] const algorithm* running() const noexcept { return all_[current_].what; }

  /// What it takes beside its candidates.
  static std::size_t overhead(int ranks, std::size_t candidates) noexcept;

 private:
  void begin();
  bool end(bool block);
  void keep_the_fastest();
  template <class Step>
  bool candidate_ends(Step step);
  void tell_failure();

  std::pmr::vector<prepared_candidate> all_;
  std::pmr::vector<seconds> mine_;    // this rank's time of each start
  std::pmr::vector<seconds> agreed_;  // the slowest rank's
  operation_ptr agreement_;           // null once the fastest is alone
  std::size_t starts_ = 0;            // that were measured
  std::size_t current_ = 0;
  double begun_ = 0;
  std::exception_ptr failure_;  // of the candidate, told when the ranks know each other's times
  enum class phase : std::uint8_t { idle, exchanging, agreeing } phase_ = phase::idle;
};

/// The few of `ranking`, best first, that are worth measuring and fit into `limit` bytes together. The MPI library's
/// own is among them when it is in the ranking, so that the choice is not slower than that.
std::vector<const algorithm*> candidates(std::span<const algorithm* const> ranking, const shape& s, const options& o,
                                         std::size_t limit);

}  // namespace taquin::detail
