// An in-place exchange in units.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/problem.hpp"
#include "exchange/shape.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// A unit is an element of the exchange, or a byte if no rank's type has gaps.
element unit_of(const exchange& x, const shape& s) noexcept;
/// The most units that fit into `bytes` of auxiliary memory.
count_t fitting(const element& unit, std::size_t bytes) noexcept;

/// The memory limit of an in-place algorithm. Without a limit of the caller's: 1% of the most that any rank sends or
/// receives, at least 64 KiB, and at least four times `least`, so that not all of it is bookkeeping.
std::size_t in_place_allowance(const shape& s, std::size_t limit, std::size_t least) noexcept;

/// The non-empty blocks of one side, in units and in order of peer.
std::pmr::vector<peer_block> collect(const blocks& side, int ranks, const element& unit,
                                     std::pmr::memory_resource* memory);
/// The same in order of location.
std::pmr::vector<peer_block> collect_by_location(const blocks& side, int ranks, const element& unit,
                                                 std::pmr::memory_resource* memory);
/// Units of all its blocks.
count_t total_units(const blocks& side, int ranks, const element& unit) noexcept;

}  // namespace taquin::detail
