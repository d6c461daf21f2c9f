// How two_phase cuts blocks, and its two inner exchanges.
#pragma once

#include <algorithm>
#include <cstddef>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "exchange/shape.hpp"

namespace taquin::detail::balanced {

/// A part of a block.
struct part {
  count_t offset;
  count_t bytes;
};

/// A block that is cut into p parts whose sizes differ by at most a byte. Part t goes through rank start + t (mod p).
struct cut_block {
  count_t bytes = 0;
  count_t start = 0;

  [[nodiscard]] part of(count_t t, int p) const noexcept {
    return {t * (bytes / p) + std::min(t, bytes % p), bytes / p + (t < bytes % p ? 1 : 0)};
  }
  /// Bytes that go through rank k.
  [[nodiscard]] count_t through(int k, int p) const noexcept { return of((k + p - start) % p, p).bytes; }
  /// Parts that are not empty.
  [[nodiscard]] count_t parts(int p) const noexcept { return std::min<count_t>(bytes, p); }
  /// f(k, part) for each part that is not empty.
  template <class F>
  void each_part(int p, F f) const {
    for (count_t t = 0; t < parts(p); ++t) f(static_cast<int>((start + t) % p), of(t, p));
  }
};

/// Cuts the blocks of one rank, in order of their receivers. The parts that are longer by a byte begin where those of
/// the block before it ended. So all messages of the rank in the first exchange differ by at most a byte.
class cutter {
 public:
  cutter(int rank, int ranks) noexcept : p_(ranks), next_(rank) {}
  cut_block next(count_t bytes) noexcept {
    const cut_block b{bytes, next_};
    next_ = (next_ + bytes % p_) % p_;
    return b;
  }

 private:
  int p_;
  count_t next_;
};

/// The most parts that a rank cuts, or forwards: as many as bytes, but at most one of each pair of ranks.
std::size_t most_cut(const shape& s) noexcept;
std::size_t most_forwarded(const shape& s) noexcept;

/// The algorithm of both inner exchanges.
const algorithm& inner_of(const options& o);

/// Upper bounds of both inner exchanges. A message of the first has at most a p-th of its sender's total and a byte,
/// one of the second a p-th of its receiver's total and a byte for each block. Where all blocks are equal so are the
/// messages, which have their size: the paper's two calls of MPI_Alltoall.
enum class phase { first, second };
shape inner_shape(const shape& s, phase of) noexcept;

}  // namespace taquin::detail::balanced
