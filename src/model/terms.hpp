// The terms of algorithms' closed cost formulas: the time that the slowest rank spends.
#pragma once

#include "exchange/shape.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

class terms {
 public:
  terms(const shape& s, const machine_model& m) noexcept;

  [[nodiscard]] double ranks() const noexcept { return ranks_; }
  /// Bytes of an average block, by the rank that sends or receives most.
  [[nodiscard]] double mean_block() const noexcept { return busiest_ / ranks_; }
  [[nodiscard]] double largest_block() const noexcept { return largest_; }
  /// Bytes of the rank that sends or receives most.
  [[nodiscard]] double busiest() const noexcept { return busiest_; }

  /// One round in which a rank sends and receives `messages` messages of `total` bytes together, the longest of
  /// `longest` bytes, all concurrently in flight. Over the average of the machine's levels.
  [[nodiscard]] seconds round(double messages, double total, double longest) const noexcept;
  /// `count` such rounds one after another: the messages of a round begin at least a gap after those of the one before.
  [[nodiscard]] seconds rounds(double count, double messages, double total, double longest) const noexcept;
  /// The same for one round whose messages all stay on one level. `sharing` ranks do so concurrently by one port: a
  /// node's share its link.
  [[nodiscard]] seconds round_on(int level, double messages, double total, double longest,
                                 double sharing = 1) const noexcept;
  /// Every block once, all in one round, and the rank's own copied.
  [[nodiscard]] seconds all_at_once() const noexcept;
  /// The same through memory that all ranks share: the bytes cost as much as in messages, and a block costs a line
  /// instead of a message.
  [[nodiscard]] seconds through_memory() const noexcept;
  /// Every block once, one partner after the other, and the rank's own copied.
  [[nodiscard]] seconds one_by_one() const noexcept;
  /// `runs` copies of `bytes` bytes together, packs likewise.
  [[nodiscard]] seconds copies(double runs, double bytes) const noexcept;
  [[nodiscard]] seconds packs(double runs, double bytes) const noexcept;

 private:
  [[nodiscard]] double peers() const noexcept;
  /// `count` rounds of which one takes `one`, with `messages` on a level.
  [[nodiscard]] seconds in_turn(double count, seconds one, int level, double messages, double total,
                                double sharing) const noexcept;
  [[nodiscard]] message_cost cost(int level, double bytes) const noexcept;

  const machine_model& model_;
  double ranks_;
  double largest_;
  double busiest_;
  bool full_;       // no block is empty
  double inside_;   // share of a rank's peers on its own node
  double on_node_;  // ranks of the largest node
};

}  // namespace taquin::detail
