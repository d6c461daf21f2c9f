// One side of an exchange inside an exchange: contiguous bytes, a block per rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class packed_side {
 public:
  packed_side(int ranks, std::pmr::memory_resource* memory) : counts_(memory), displs_(memory) {
    array_list::take(*this, as_size(ranks));
  }

  /// Bytes that it takes from `memory`.
  static constexpr std::size_t bookkeeping(std::size_t ranks) noexcept { return array_list::bytes<packed_side>(ranks); }

  /// Sets the sizes: count(i) bytes for rank i.
  template <class Count>
  void fill(Count count) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = count(static_cast<int>(i));
    bytes_ = restore();
  }
  /// Sets the sizes: the sums of what `f` adds by a function of a rank and a number of bytes.
  template <class F>
  void sum_up(F f) {
    std::ranges::fill(counts_, 0);
    f([&](int rank, count_t bytes) { counts_[as_size(rank)] += bytes; });
    bytes_ = restore();
  }
  /// Where the bytes lie; the view is of there.
  void place_at(std::byte* data) noexcept { data_ = data; }
  [[nodiscard]] blocks view() const {
    return {data_, count_view(counts_.data()), count_view(displs_.data()), 1, element::of(MPI_BYTE)};
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return as_size(bytes_); }

  /// Calls f with a function of a rank and a number of bytes that returns where the next bytes of that rank's block
  /// are. The displacements serve as cursors meanwhile.
  template <class F>
  void go_through(F f) {
    f([&](int rank, count_t bytes) {
      count_t& cursor = displs_[as_size(rank)];
      std::byte* const place = data_ + cursor;
      cursor += bytes;
      return place;
    });
    restore();
  }

 private:
  // Displacements from the sizes; returns the sum.
  count_t restore() noexcept {
    count_t at = 0;
    for (std::size_t i = 0; i < displs_.size(); ++i) {
      displs_[i] = at;
      at += counts_[i];
    }
    return at;
  }

  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&packed_side::counts_, ranks);
    each(&packed_side::displs_, ranks);
  }

  std::pmr::vector<count_t> counts_;
  std::pmr::vector<count_t> displs_;
  std::byte* data_ = nullptr;
  count_t bytes_ = 0;
};

}  // namespace taquin::detail
