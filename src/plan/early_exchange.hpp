// spread_out, begun before the exchange is agreed on: between nodes a blocking call with large blocks does not wait for
// the agreement, which travels with the data.
#pragma once

#include <utility>

#include "algorithms/algorithm.hpp"
#include "call/agree.hpp"
#include "call/operation.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class early_exchange final : public operation, public early_start {
 public:
  /// `direct` is spread_out's for the valid exchange `x`.
  early_exchange(const exchange& x, int rank, operation_ptr direct) : x_(x), rank_(rank), direct_(std::move(direct)) {}

  /// All of its messages are on their way when it has begun: a rank that answers those of others, because the call has
  /// failed, makes no progress with its own.
  static bool posts_all(const options& o, int ranks) noexcept { return ranks <= in_flight_of(o); }

  void begin() override { direct_->start(); }
  [[nodiscard]] count_t sent(int peer) const override { return peer == rank_ ? 0 : x_.send.bytes(peer); }
  [[nodiscard]] count_t awaited(int peer) const override { return peer == rank_ ? 0 : x_.recv.bytes(peer); }

  /// It has begun.
  void start() override {}
  bool test() override { return direct_->test(); }
  void wait() override { direct_->wait(); }
  void account(statistics& s) const override { direct_->account(s); }

 private:
  const exchange x_;
  int rank_;
  operation_ptr direct_;
};

}  // namespace taquin::detail
