// The map of an aborted redistribution: which blocks are whole, and where.
#pragma once

#include "redistribute/check_map.hpp"
#include "redistribute/machine.hpp"
#include "taquin/failure.hpp"

namespace taquin::detail {

/// The map of one rank, by the destinations in `at`, which are true wherever an algorithm ends, and by the incoming
/// blocks in `t`. Not known if `t` was not exchanged: then nothing has moved, and only the blocks here are listed.
/// Allocates the map.
failure::block_map map_of(const block_map& at, const targets& t, int rank);

/// The same if this rank has failed before its redistribution could begin: all of its blocks are in place. `given` is
/// in range. Not known, as above.
failure::block_map map_of(const given_map& given, std::size_t unit_bytes, int rank);

}  // namespace taquin::detail
