// The time of a redistribution between layouts under a machine model, from one array to another.
#pragma once

#include <cstddef>
#include <optional>

#include "taquin/cost_model.hpp"
#include "taquin/layout.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

struct layout_time {
  count_t bytes = 0;           ///< of the rank that sends most, of those that are looked at
  count_t messages = 0;        ///< that it sends
  seconds formula = 0;         ///< of the slowest of them
  std::optional<seconds> run;  ///< of all ranks' chunks, one by one; none: there are too many, or it was not asked
};

/// Chunks are those of a redistribution with o.memory. The formula takes one rank at a time: its chunks in windows of
/// as many as are in flight, one after the other, its packing and unpacking, and its own elements. It is that of the
/// slowest among the first, the middle and the last rank: time and memory grow with the peers of one rank. `run` adds
/// up the chunks of all ranks, all in flight together, where they are at most `most_messages`. Throws usage_error for
/// layouts that do not belong together.
layout_time time_of(const layout& from, const layout& to, const layout_options& o, std::size_t element,
                    const topology& nodes, const machine_model& m, count_t most_messages);

}  // namespace taquin::detail
