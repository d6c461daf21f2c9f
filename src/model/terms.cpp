#include "model/terms.hpp"

#include <algorithm>
#include <cmath>

namespace taquin::detail {

terms::terms(const shape& s, const machine_model& m) noexcept
    : model_(m),
      ranks_(s.ranks),
      largest_(static_cast<double>(s.max_block_bytes)),
      busiest_(static_cast<double>(std::max(s.max_rank_bytes, s.max_received_bytes))),
      full_(s.uniform || s.min_block_bytes > 0),
      inside_(s.nodes == 0 || s.ranks == 1 ? 1 : (s.largest_node - 1.0) / (s.ranks - 1.0)),
      on_node_(s.nodes == 0 ? 1 : s.largest_node) {}

message_cost terms::cost(int level, double bytes) const noexcept {
  return model_.cost(level, static_cast<count_t>(bytes));
}

// The core handles the messages one after the other; a port passes them meanwhile. The round cannot be shorter than
// either, nor than its longest message, and ends when the last has arrived.
seconds terms::round_on(int level, double messages, double total, double longest, double sharing) const noexcept {
  if (messages <= 0) return 0;
  const message_cost mean = cost(level, total / messages);
  const message_cost most = cost(level, longest);
  const double processor = messages * (mean.sender + mean.receiver);
  const double turns = std::max(sharing * messages / model_.ports, 1.0);
  const double port = std::max((turns - 1) * mean.gap + mean.port, most.port);
  return std::max(processor, port) + std::min(processor, port) / messages + mean.latency + model_.wait;
}

seconds terms::round(double messages, double total, double longest) const noexcept {
  if (inside_ >= 1) return round_on(0, messages, total, longest);
  const double m = messages * inside_;
  const double n = messages - m;
  return round_on(0, m, total * inside_, longest) + round_on(1, n, total * (1 - inside_), longest, on_node_) -
         (m > 0 && n > 0 ? model_.wait : 0);
}

seconds terms::in_turn(double count, seconds one, int level, double messages, double total,
                       double sharing) const noexcept {
  if (count <= 0 || messages <= 0) return 0;
  const double turns = std::max(sharing * messages / model_.ports, 1.0);
  return one + (count - 1) * std::max(one, turns * cost(level, total / messages).gap);
}

seconds terms::rounds(double count, double messages, double total, double longest) const noexcept {
  const seconds one = round(messages, total, longest);
  if (inside_ >= 1) return in_turn(count, one, 0, messages, total, 1);
  const double outside = 1 - inside_;
  return in_turn(count, one, 1, messages * outside, total * outside, on_node_);
}

// Empty blocks are not sent. If there are some, their number lies between none and all that the sizes allow.
double terms::peers() const noexcept {
  if (largest_ <= 0) return 0;
  const double all = ranks_ - 1;
  return full_ ? all : std::sqrt(all * std::min(all, std::ceil(busiest_ / largest_)));
}

seconds terms::all_at_once() const noexcept {
  return round(peers(), (ranks_ - 1) * mean_block(), largest_) + copies(1, mean_block());
}

seconds terms::through_memory() const noexcept {
  if (ranks_ <= 1) return copies(2, mean_block());
  const message_cost all = cost(0, busiest_ - mean_block());
  const double lines = (ranks_ - 1) * model_.line * model_.ranks_per_core;
  return std::max(lines, all.port) + std::min(lines, all.port) / (ranks_ - 1) + all.latency + model_.wait +
         copies(1, mean_block());
}

seconds terms::one_by_one() const noexcept {
  const double bytes = mean_block();
  const double on_node = inside_ >= 1 ? ranks_ : on_node_;
  const seconds near = round_on(0, 1, bytes, largest_);
  const seconds far = round_on(1, 1, bytes, largest_, on_node);
  return in_turn(on_node - 1, near, 0, 1, bytes, 1) + in_turn(ranks_ - on_node, far, 1, 1, bytes, on_node) +
         copies(1, bytes);
}

seconds terms::copies(double runs, double bytes) const noexcept {
  return (runs * model_.copy.each + bytes * model_.copy.per_byte) * model_.ranks_per_core;
}

seconds terms::packs(double runs, double bytes) const noexcept {
  return (runs * model_.pack.each + bytes * model_.pack.per_byte) * model_.ranks_per_core;
}

}  // namespace taquin::detail
