// The exchange of a redistribution in one array in the least memory, and of small arrays.
//
// Steps:  each rank brings together what goes to each rank, in the order of the source's memory; an exchange in place,
//         of any counts; received data go to their runs. Each byte moves about five times.
// Memory: grouping::bytes, four numbers for each rank, and what the exchange in place is given.
#pragma once

#include <optional>
#include <span>

#include "layouts/array_exchange.hpp"
#include "layouts/grouping.hpp"
#include "taquin/plan.hpp"

namespace taquin::detail {

struct grouped_sizes {
  std::size_t streams = 0;
  std::size_t page = 0;
  std::size_t scratch = 0;   ///< bytes for the rank's own steps
  std::size_t exchange = 0;  ///< bytes that the exchange in place may take
  /// The same on all ranks: the largest that are worth it within `room`, or the least. `most`: bytes of the largest
  /// part of any rank. `scratch`: that there is in any case.
  static grouped_sizes within(std::size_t room, std::size_t streams, std::size_t most, std::size_t ranks,
                              std::size_t scratch);
  /// The rest of `room`, for the rank's own steps and for more than the least exchange.
  static std::size_t left_of(std::size_t room, std::size_t ranks);
  /// All that it takes.
  [[nodiscard]] std::size_t bytes(std::size_t ranks) const noexcept;
};

class grouped_exchange final : public array_exchange {
 public:
  /// `scratch`: as large as the sizes say; free between start() and finish().
  grouped_exchange(const array_move& move, const grouped_sizes& sizes, std::span<std::byte> scratch,
                   std::pmr::memory_resource* memory)
      : move_(move), sizes_(sizes), scratch_(scratch), out_(move.ranks, memory), in_(move.ranks, memory) {}

  void join(std::byte* data, call& running, MPI_Comm comm) override;
  void start(std::byte* data) override;
  bool test() override { return plan_->test(); }
  void wait() override { plan_->wait(); }
  void finish(std::byte* data) override;
  [[nodiscard]] std::size_t inner_peak() const noexcept override { return plan_ ? plan_->peak_memory() : 0; }

 private:
  template <class F>
  void with_groups(std::size_t streams, F f) const;

  array_move move_;
  grouped_sizes sizes_;
  std::span<std::byte> scratch_;
  numbers_of_ranks out_;
  numbers_of_ranks in_;
  std::optional<plan> plan_;
};

}  // namespace taquin::detail
