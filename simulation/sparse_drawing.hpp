// The pen that the moves of sparse exchanges are drawn with: messages, copies and synchronizations, and the common
// parts of several algorithms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "base/sizes.hpp"
#include "simulation/sparse_moves.hpp"
#include "simulation/whole.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

class sparse_drawing {
 public:
  using block_list = whole_moves::block_list;
  /// Of a block with the agreement: its bytes there, and whether those are its data.
  struct in_step {
    count_t bytes = 0;
    bool data = false;
  };

  /// Both must outlive it.
  sparse_drawing(const sparse_pattern& x, sparse_moves& to) : x_(x), to_(to), p_(x.ranks()) {}

  [[nodiscard]] int ranks() const noexcept { return p_; }
  [[nodiscard]] const sparse_pattern& pattern() const noexcept { return x_; }
  [[nodiscard]] sparse_moves& moves() noexcept { return to_; }

  /// f(rank, block) for each block that leaves its rank.
  template <class Each>
  void each_block(Each f) const {
    for (int rank = 0; rank < p_; ++rank)
      for (const sparse_block& b : x_.blocks[as_size(rank)])
        if (b.to != rank) f(rank, b);
  }

  void send(int from, int to, count_t bytes, block_list blocks = {}) {
    name_round();
    to_.all.send(round_, {from, to, std::max(bytes, count_t{1}), std::move(blocks)});
  }
  void copy(int rank, count_t bytes, place from, place to) {
    name_round();
    to_.all.copy(round_, {rank, bytes, from, to});
  }
  /// The moves that follow belong to this stage of the call.
  void stage(std::string_view name) noexcept { stage_ = name; }
  void next() noexcept { ++round_; }
  /// The same if senders of the round continue after all of their messages were received.
  void next_when_taken();
  /// The next round begins when the ranks of each node have ended this one.
  void synchronize();

  /// Each rank sends to all others, through other ranks.
  void disseminate(count_t bytes, int radix);
  /// Counts of 4 bytes, one for each rank, are added up; each rank gets its own.
  void reduce_counts();
  /// A step among nodes: one message for each pair of nodes and direction. `carried(rank, block)` beside records.
  void step_among_nodes(const std::function<in_step(int, const sparse_block&)>& piggybacked);
  /// The same in log rounds of all ranks (call/forwarded_blocks.hpp).
  void forward(const std::function<in_step(int, const sparse_block&)>& piggybacked);
  /// The agreement of a call that does not take the fast path.
  void agree();
  /// Notices of all blocks through other ranks, digits of this radix (router.hpp).
  void route(int radix);
  /// Data of more than `carried` bytes are requested.
  void requested_for(count_t piggybacked);
  /// A rank's data for itself.
  void own();

 private:
  [[nodiscard]] int first(int node) const noexcept { return node * x_.per_node; }
  [[nodiscard]] int size(int node) const noexcept { return std::min(x_.per_node, p_ - first(node)); }
  void name_round();

  const sparse_pattern& x_;
  sparse_moves& to_;
  int p_;
  std::string_view stage_ = sparse_moves::find;
  std::size_t round_ = 0;
};

/// Whether the ranks' nodes take steps among each other (node/internode.hpp), which may have one rank each.
bool step_suits(const sparse_pattern& x) noexcept;

/// Data that are sent with their notices, of messages of the greatest length: bytes of a block at most.
inline constexpr count_t most_with_header = sparse_algorithm::most_message / 4;

}  // namespace taquin::detail
