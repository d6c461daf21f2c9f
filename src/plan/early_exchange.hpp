// spread_out in two halves, of which the first goes before ranks have agreed on the exchange: between nodes a blocking
// call with large blocks sends at once, and the agreement travels with the data. Receives are posted when ranks have
// agreed that each gets what it expects: an MPI library may write more than the receive has room for (Open MPI 4 and 5
// do, where ranks share memory).
#pragma once

#include "algorithms/algorithm.hpp"
#include "call/agree.hpp"
#include "call/operation.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class early_exchange final : public operation, public early_start {
 public:
  /// Of the valid exchange `x`. Takes memory; local.
  early_exchange(const exchange& x, const context& c, memory_budget& budget);
  static std::size_t footprint(const shape& s) noexcept;

  /// All of its messages are on their way when it has begun: a rank that answers those of others, because the call has
  /// failed, makes no progress with its own.
  static bool posts_all(const options& o, int ranks) noexcept { return ranks <= in_flight_of(o); }

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
