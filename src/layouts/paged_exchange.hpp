// The exchange of a redistribution in one array where it moves page by page.
//
// Steps:  runs are partitioned by target rank, page by page, in place (a dealer). A redistribution brings each page to
//         the place where the target's part, partitioned by source in the same way, would have it. The bytes that fill
//         no page go by an exchange. Then the pages are collected backwards. Where all runs are whole pages nothing is
//         partitioned or collected.
// Memory: two pages for each rank, twelve bytes for each page of the array, and what the redistribution takes: 17 KiB,
//         300 bytes for each rank, 82 for each page, and eight pages. The page for which the sum is least gives
//         2·√(94·n·(8 + 2·p)) for n bytes on p ranks.
#pragma once

#include <optional>

#include "layouts/array_exchange.hpp"
#include "layouts/dealer.hpp"
#include "taquin/plan.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

/// Sizes that all ranks have the same.
struct paged_sizes {
  std::size_t page = 0;
  bool whole = false;  ///< all runs consist of whole pages
  std::size_t most = 0;
  std::size_t ranks = 0;

  /// The largest pages that are worth it within `room`, or the least. `run`: bytes of which the length of every run of
  /// every rank is a multiple.
  static paged_sizes within(std::size_t room, std::size_t most, std::size_t ranks, std::size_t run);
  /// All that it takes.
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] std::size_t of_redistribution() const noexcept;
};

/// The largest number of elements of which the lengths of all runs are multiples, whatever the rank.
std::size_t common_run(const layout& from, const layout& to, const layout_options& o);

class paged_exchange final : public array_exchange {
 public:
  paged_exchange(const array_move& move, const paged_sizes& sizes, std::pmr::memory_resource* memory);

  void join(std::byte* data, call& running, MPI_Comm comm) override;
  void start(std::byte* data) override;
  bool test() override;
  void wait() override;
  void finish(std::byte* data) override;
  [[nodiscard]] std::size_t inner_peak() const noexcept override;

 private:
  struct sides;
  void count();
  void find_places(sides& s, MPI_Comm comm, call& running);
  // A rank's runs by ranks.
  template <class F>
  void leaving(F f) const {
    move_.leaving.forward(
        [&](std::size_t position, std::size_t n) { f(as_size(layout_access::rank_at(move_.to, position)), n); });
  }
  template <class F>
  void coming(F f) const {
    move_.coming.forward(
        [&](std::size_t position, std::size_t n) { f(as_size(layout_access::rank_at(move_.from, position)), n); });
  }

  array_move move_;
  paged_sizes sizes_;
  std::pmr::memory_resource* memory_;
  dealer dealt_;
  dealer collected_;
  numbers_of_ranks rest_out_;  // bytes that fill no page
  numbers_of_ranks rest_in_;
  std::pmr::vector<int> rank_of_;   // of this rank's pages, in the order in which they fill
  std::pmr::vector<int> place_of_;  // there
  std::size_t pages_in_ = 0;
  std::optional<redistribution> pages_;
  std::optional<plan> rests_;
  std::uint64_t copied_ = 0;  // bytes that are partitioned and collected
};

}  // namespace taquin::detail
