// The moves of all ranks in algorithms without a schedule, or whose drawing shows more than that.
#pragma once

#include <cstddef>

#include "exchange/shape.hpp"
#include "simulation/whole.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// Adds the moves, and returns one past the last round; see add_moves().
std::size_t moves_of_bruck_v(const whole_exchange& x, const shape& s, const options& o, const moves_target& to);
std::size_t moves_of_multilevel(const whole_exchange& x, const shape& s, const options& o, const moves_target& to);
std::size_t moves_of_native(const whole_exchange& x, const shape& s, const options& o, const moves_target& to);
std::size_t moves_of_node_aggregated(const whole_exchange& x, const shape& s, const options& o, const moves_target& to);
std::size_t moves_of_shared_memory(const whole_exchange& x, const shape& s, const options& o, const moves_target& to);
std::size_t moves_of_two_phase(const whole_exchange& x, const shape& s, const options& o, const moves_target& to);
std::size_t moves_of_zero_copy_bruck_v(const whole_exchange& x, const shape& s, const options& o,
                                       const moves_target& to);

}  // namespace taquin::detail
