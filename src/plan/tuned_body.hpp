// The body of a plan that measures: the best few candidates run the plan's first starts in turn, then the fastest
// stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/plan_body.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"

namespace taquin::detail {

/// An algorithm and what it prepared.
struct contestant {
  const algorithm* what = nullptr;
  body_ptr body;
};

/// Each contestant runs `tries` starts, in turn. The last of these exchanges is complete when all ranks have told each
/// other their times; the next start frees all contestants but the fastest. A start took as long as on its slowest
/// rank, a contestant as long as its best start. Ties go to the first.
class tuned_body final : public plan_body {
 public:
  static constexpr int tries = 3;

  /// The same contestants in the same order on all ranks. `tag` is for the times. Everything is taken from `memory`.
  /// Local.
  tuned_body(std::pmr::vector<contestant>&& all, const mpi::communicator& comm, int tag,
             std::pmr::memory_resource* memory);

  void start() override;
  bool test() override;
  void wait() override;
  void run() override;
  void account(statistics& s) const override;

  /// Of the exchange that was started last, or will be first.
  [[nodiscard]] const algorithm* running() const noexcept { return all_[current_].what; }

  /// What it takes beside its contestants.
  static std::size_t overhead(int ranks, std::size_t contestants) noexcept;

 private:
  void begin();
  bool end(bool block);
  void keep_the_fastest();

  std::pmr::vector<contestant> all_;
  std::pmr::vector<seconds> mine_;    // this rank's time of each start
  std::pmr::vector<seconds> agreed_;  // the slowest rank's
  body_ptr agreement_;                // null once the fastest is alone
  std::size_t starts_ = 0;            // that were measured
  std::size_t current_ = 0;
  double begun_ = 0;
  enum class phase : std::uint8_t { idle, exchanging, agreeing } phase_ = phase::idle;
};

/// The few of `ranking`, best first, that are worth measuring and fit into `limit` bytes together. The MPI library's
/// own is among them when it is in the ranking, so that the choice is not slower than that.
std::vector<const algorithm*> contestants(std::span<const algorithm* const> ranking, const shape& s, const options& o,
                                          std::size_t limit);

}  // namespace taquin::detail
