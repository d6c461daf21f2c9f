// The body of a plan that measures: the best few candidates run the plan's first starts interleaved, then the fastest
// stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/memory_budget.hpp"
#include "call/operation.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"
#include "select/trial.hpp"

namespace taquin::detail {

/// An algorithm, and the options with which it is tried.
struct candidate_plan {
  const algorithm* what = nullptr;
  options opts;
  std::size_t memory = 0;  ///< what it states
};

/// An algorithm and its prepared operation.
struct prepared_candidate {
  const algorithm* what = nullptr;
  operation_ptr operation;
};

/// Each candidate runs `tries` starts, interleaved. With the start after these ranks exchange their times, in one round
/// that needs no rank while it is in progress; the next one frees all candidates but the fastest.
class autotuner final : public operation {
 public:
  static constexpr int tries = 3;
  static constexpr std::size_t most = trial::most;  ///< candidates

  /// The same candidates in the same order on all ranks. `tag` is for the times. Everything is taken from `budget`.
  /// Local.
  autotuner(std::pmr::vector<prepared_candidate>&& all, mpi::communicator& comm, int tag, memory_budget& budget);

  void start() override;
  bool test() override;
  void wait() override;
  void run() override;
  void account(statistics& s) const override;

  /// Of the exchange that was started last, or will be first.
  [[nodiscard]] const algorithm* running() const noexcept { return all_[current_].what; }

  /// Bytes beside its candidates.
  static std::size_t overhead(int ranks, std::size_t candidates) noexcept;

 private:
  void begin();
  bool end(bool block);
  void keep_the_fastest();

  [[nodiscard]] bool reports() const noexcept { return publishing_ != nullptr && starts_ == times_.calls(); }

  std::pmr::vector<prepared_candidate> all_;
  trial times_;                         // of the candidates
  std::pmr::vector<seconds> reported_;  // those of all ranks, by rank
  operation_ptr publishing_;            // null once the fastest is alone
  std::uint64_t starts_ = 0;            // that are complete, until then
  std::size_t current_ = 0;
  double started_at_ = 0;
  enum class phase : std::uint8_t { idle, exchanging, publishing } phase_ = phase::idle;
};

/// The few of `ranking`, best first, that are worth measuring and fit into `limit` bytes together, and after them some
/// of these with other options. The MPI library's own is among them when it is in the ranking, so that the choice is
/// not slower than that.
std::vector<candidate_plan> candidates(std::span<const algorithm* const> ranking, const shape& s, const options& o,
                                       std::size_t limit);

}  // namespace taquin::detail
