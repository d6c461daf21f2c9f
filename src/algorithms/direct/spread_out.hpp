// spread_out for others: its direct messages, for algorithms that send only some blocks that way; and the exchange in
// two halves, of which the first begins before ranks have agreed on it.
#pragma once

#include "algorithms/algorithm.hpp"
#include "call/agree.hpp"
#include "call/operation.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// One round: the blocks of more than `above` bytes to rank+1, rank+2, …, none to the rank itself.
void add_direct_round(schedule& s, const local_exchange& x, const options& o, count_t above);

/// Its parts, at most, own types included.
schedule_size direct_size(const shape& s) noexcept;

/// Between nodes a blocking call with large blocks sends before ranks have agreed. Receives are posted when ranks have
/// agreed that each gets what it expects: an MPI library may write beyond the buffer when a message is longer than its
/// receive (Open MPI 4 and 5 do, where ranks share memory).
class early_exchange final : public operation, public early_start {
 public:
  /// Of the valid exchange `x`. Takes memory; local.
  early_exchange(const exchange& x, const context& c, memory_budget& budget);
  static std::size_t footprint(const shape& s) noexcept;

  /// All of its messages are in flight when it has begun: a rank that receives those of others, because the call has
  /// failed, makes no progress with its own.
  static bool posts_all(const options& o, int ranks) noexcept { return ranks <= in_flight_of(o); }
  /// Blocks are not too long, and all of them may be in flight.
  static bool suits(const shape& s, const options& o) noexcept {
    return !s.in_place && !s.large && posts_all(o, s.ranks) &&
           s.max_block_bytes <= static_cast<std::uint64_t>(most_bytes);
  }

  void begin() override { sends_->start(); }
  [[nodiscard]] count_t sent(int peer) const override { return peer == rank_ ? 0 : x_.send.bytes(peer); }

  void start() override;
  bool test() override;
  /// Of what has begun.
  void wait() override;
  void account(statistics& s) const override;

 private:
  const exchange x_;
  int rank_;
  operation_ptr sends_;
  operation_ptr receives_;
  bool receiving_ = false;
};

}  // namespace taquin::detail
