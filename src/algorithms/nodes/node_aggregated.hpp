// How node_aggregated divides its work, as determined by its shape.
#pragma once

#include "algorithms/nodes/aggregation.hpp"
#include "exchange/shape.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// Every rank is alone on its node, or all are on one.
bool nothing_to_gather(const shape& s) noexcept;
/// With messages inside nodes: as many distances in a pass as the memory limit allows, by repeated halving; if even one
/// does not fit, the number that needs least.
aggregation aggregation_by_messages(const shape& s, const options& o) noexcept;
/// Distances, the node's own included, that a pass through shared memory serves; 0: not even one fits, or nodes have no
/// such memory.
aggregation aggregation_through_memory(const shape& s, const options& o) noexcept;

}  // namespace taquin::detail
