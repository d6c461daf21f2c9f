// How two_phase cuts blocks, and its two inner exchanges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"

namespace taquin::detail::balanced {

/// A part of a block of m bytes.
struct part {
  count_t offset;
  count_t bytes;
};

/// The counts of all ranks, and how blocks are cut: the remaining bytes of the block from i to j go to the parts from i
/// + j on, so that they spread over the intermediate ranks.
class cutting {
 public:
  /// Gathers the counts of all ranks; collective. Equal blocks need no exchange: they are known from the shape.
  cutting(const exchange& x, const shape& s, const mpi::communicator& comm, std::pmr::memory_resource* memory);
  /// bytes[i·p + j]: from i to j.
  cutting(int ranks, std::pmr::vector<count_t> bytes) : p_(ranks), bytes_(std::move(bytes)) {}
  /// Bytes that i sends to j.
  [[nodiscard]] count_t bytes(int i, int j) const { return bytes_.empty() ? each_ : bytes_[index(i, j)]; }
  [[nodiscard]] part of(int i, int j, int k) const {
    const count_t m = bytes(i, j);
    const int turn = ((k - i - j) % p_ + p_) % p_;
    return {turn * (m / p_) + std::min<count_t>(turn, m % p_), m / p_ + (turn < m % p_ ? 1 : 0)};
  }
  /// Bytes that i sends through k; bytes that k forwards to j.
  [[nodiscard]] count_t first(int i, int k) const {
    count_t sum = 0;
    for (int j = 0; j < p_; ++j) sum += of(i, j, k).bytes;
    return sum;
  }
  [[nodiscard]] count_t second(int j, int k) const {
    count_t sum = 0;
    for (int i = 0; i < p_; ++i) sum += of(i, j, k).bytes;
    return sum;
  }

 private:
  [[nodiscard]] std::size_t index(int i, int j) const { return as_size(i) * as_size(p_) + as_size(j); }
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const shape& s) {
    each(&cutting::bytes_, s.uniform ? 0 : as_size(s.ranks) * as_size(s.ranks));
  }

  int p_;
  count_t each_ = 0;  // where all blocks are equal
  std::pmr::vector<count_t> bytes_;
};

/// The algorithm of both inner exchanges.
const algorithm& inner_of(const options& o);

/// Upper bounds of both inner exchanges: a message has at most a p-th of a rank's total and one byte per block. Where
/// all blocks are equal so are the messages, which have their size: the paper's two calls of MPI_Alltoall.
shape inner_shape(const shape& s) noexcept;

}  // namespace taquin::detail::balanced
