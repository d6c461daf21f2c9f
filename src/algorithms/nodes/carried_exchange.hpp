// An exchange whose blocks travel with the agreement on it, in a step among nodes: what node_aggregated does in a blocking
// call with small blocks.
#pragma once

#include "base/memory_budget.hpp"
#include "exchange/agree.hpp"
#include "node/internode.hpp"
#include "schedule/operation.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class carried_exchange final : public operation, public carried_blocks {
 public:
  /// Whether this rank's blocks are short enough for the step, and its share of the step's memory is within what the
  /// budget has left. In place only with the same counts both ways, or without holes. Local.
  static bool possible(const exchange& x, const internode& step, const memory_budget& budget) noexcept;

  /// `x` must be valid and its types known.
  carried_exchange(const exchange& x, internode& step, memory_budget& budget) noexcept
      : x_(x), step_(step), budget_(budget) {}

  void write(internode& step) override;
  /// A step for the blocks alone, where ranks have agreed before. Collective.
  void carry(int tag);
  /// Puts the blocks of the others into their places. To be called when all ranks' blocks have come. Throws usage_error
  /// on the rank whose receive block is too short, with everything else in place.
  void start() override;
  bool test() override { return true; }
  void wait() override {}
  void account(statistics& s) const override;

 private:
  void deliver_own(int own);
  void deliver(int from);

  const exchange x_;
  internode& step_;
  memory_budget& budget_;
  count_t copied_ = 0;
  int too_long_from_ = -1;
};

}  // namespace taquin::detail
