// The whole data after an aborted exchange in place.
#pragma once

#include "algorithms/in_place/in_place_protocol.hpp"
#include "taquin/failure.hpp"

namespace taquin::detail {

/// The map of one rank, as its machine and its port know it. A started move is finished first. Allocates the
/// map.
failure::block_map map_of(in_place_protocol& p);

}  // namespace taquin::detail
