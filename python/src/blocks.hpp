// Redistribution of n-dimensional arrays in blocks, in place: from one distribution to another, and with a
// transposition.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "layouts/transpose.hpp"
#include "options.hpp"
#include "runs.hpp"

namespace taquin::python {

/// From `from` to `to`, in the storage of one array that has room for the larger of the two blocks of this rank.
///
/// Blocks are partitioned by rank into pages; taquin::redistribution moves each page to the place where the target
/// block, partitioned by source in the same way, has it; bytes that fill no page go by alltoallv; and the pages are
/// gathered backwards. All memory moves are of pages or runs. If the lengths of all runs have a common divisor that is
/// a good page, every page goes straight to its place instead: nothing is partitioned, and nothing is gathered.
///
/// Scratch memory on p ranks with at most n bytes each: 2·p pages, 12 bytes for each page of the n, and the
/// memory of taquin::redistribution; the page is chosen so that the sum is least.
class block_exchange {
 public:
  /// Collective. `held`: scratch bytes that the caller holds meanwhile. `transposing`: afterwards, each rank transposes
  /// its block. Throws on every rank: `usage_error` when any rank has an `invalid_text` in `c`, or the ranks disagree
  /// on the distributions; `budget_exceeded`. An empty shape is given by a rank that has one.
  block_exchange(distribution from, distribution to, std::size_t element, std::size_t held, bool transposing,
                 MPI_Comm comm, choices& c);
  /// Collective.
  void run(std::byte* data);

 private:
  void agree(std::size_t held, bool transposing);
  std::size_t choose(std::size_t memory);
  [[nodiscard]] std::size_t part_of_runs() const;
  [[nodiscard]] std::size_t larger_page() const noexcept;
  [[nodiscard]] std::size_t dealers(std::size_t page) const noexcept;
  [[nodiscard]] std::size_t footprint(std::size_t page) const noexcept;

  distribution from_;
  distribution to_;
  std::size_t element_;
  MPI_Comm comm_;
  choices* choices_;
  std::size_t rank_ = 0;
  std::size_t ranks_ = 0;
  std::size_t most_ = 0;  ///< bytes of the largest block on any rank
  std::size_t held_ = 0;
  std::size_t page_ = 0;
  bool whole_ = false;      ///< all runs consist of whole pages: nothing is partitioned
  std::size_t memory_ = 0;  ///< the smallest limit
  bool transposing_;
  detail::transposition transposition_{};
};

}  // namespace taquin::python
