// The exchange of a redistribution in one array.
//
// Steps:  each rank brings together what goes to each rank, in the order of the source's memory; an exchange in place,
//         of any counts; received data go to their runs. Each byte moves about five times; where all runs are whole
//         pages, at most three times.
// Memory: grouping::bytes, four numbers for each rank, and what the exchange in place is given.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/grouping.hpp"
#include "layouts/owner_runs.hpp"
#include "taquin/failure.hpp"
#include "taquin/layout.hpp"
#include "taquin/options.hpp"
#include "taquin/plan.hpp"

namespace taquin::detail {

/// The data that move. `outgoing`: this rank's runs by their targets' positions in the grid of `to`; `incoming`: by
/// their sources' in that of `from`. `most`: bytes of the largest part of any rank.
struct array_move {
  const layout& from;
  const layout& to;
  const owner_runs& outgoing;
  const owner_runs& incoming;
  std::size_t most;
  std::size_t ranks;
  const layout_options& options;
};

/// A number for each rank, and the sums of those before it.
struct numbers_of_ranks {
  numbers_of_ranks(std::size_t ranks, std::pmr::memory_resource* memory)
      : counts(ranks, 0, memory), first(ranks, 0, memory) {}
  static constexpr std::size_t bytes(std::size_t ranks) noexcept { return 2 * ranks * sizeof(count_t); }
  std::pmr::vector<count_t> counts;
  std::pmr::vector<count_t> first;
};

struct grouped_sizes {
  std::size_t streams = 0;
  std::size_t page = 0;
  bool whole = false;        ///< all runs consist of whole pages
  std::size_t scratch = 0;   ///< bytes for the rank's own steps
  std::size_t exchange = 0;  ///< bytes that the exchange in place may take
  /// The same on all ranks: the largest that are worth it within `space`, or the least. `most`: bytes of the largest
  /// part of any rank. `run`: bytes of which the length of every run of every rank is a multiple. `scratch`: that there
  /// is in any case.
  static grouped_sizes within(std::size_t space, std::size_t streams, std::size_t most, std::size_t ranks,
                              std::size_t run, std::size_t scratch);
  /// The rest of `space`, for the rank's own steps and for more than the least exchange.
  static std::size_t left_of(std::size_t space, std::size_t ranks);
  /// All that it takes.
  [[nodiscard]] std::size_t bytes(std::size_t ranks) const noexcept;
};

/// The largest number of elements of which the lengths of all runs are multiples, whatever the rank.
std::size_t common_run(const layout& from, const layout& to, const layout_options& o);

/// In one array: from a part whose runs lie in the order of the source's memory to one whose runs lie in the same order
/// of axes.
class grouped_exchange {
 public:
  /// `scratch`: as large as the sizes say; free between start() and finish().
  grouped_exchange(const array_move& move, const grouped_sizes& sizes, std::span<std::byte> scratch,
                   std::pmr::memory_resource* memory)
      : move_(move), sizes_(sizes), scratch_(scratch), out_(move.ranks, memory), in_(move.ranks, memory) {}

  /// Prepares what communicates; nothing can be refused afterwards. Collective, after the agreement and outside its
  /// stage.
  void join(std::byte* data, MPI_Comm comm);
  void start(std::byte* data);
  [[nodiscard]] bool test() { return plan_->test(); }
  void wait() { plan_->wait(); }
  /// Once it is complete: the rank's own steps that are left.
  void finish(std::byte* data);
  /// The map of an exchange of which nothing has moved, after start() was called.
  [[nodiscard]] failure::block_map standing() const;
  /// The figures of the last exchange.
  [[nodiscard]] const statistics& moved() const noexcept { return moved_; }
  /// The most bytes of its plan, which are not in the budget.
  [[nodiscard]] std::size_t inner_peak() const noexcept { return plan_ ? plan_->peak_memory() : 0; }

 private:
  template <class F>
  void with_groups(std::size_t streams, F f) const;

  array_move move_;
  grouped_sizes sizes_;
  std::span<std::byte> scratch_;
  numbers_of_ranks out_;
  numbers_of_ranks in_;
  std::optional<plan> plan_;
  statistics moved_;
};

}  // namespace taquin::detail
