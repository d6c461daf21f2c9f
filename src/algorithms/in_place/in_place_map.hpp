// What is whole of an exchange in place that is left in the middle.
#pragma once

#include "algorithms/in_place/in_place_protocol.hpp"
#include "taquin/failure.hpp"

namespace taquin::detail {

/// The map of one rank, as its machine and its port know it. A move that has begun is finished first. Takes memory for
/// the map.
failure::block_map map_of(in_place_protocol& p);

}  // namespace taquin::detail
