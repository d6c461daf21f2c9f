// The map of a redistribution that was left in the middle: which blocks are whole, and where.
#pragma once

#include "redistribute/check_map.hpp"
#include "redistribute/machine.hpp"
#include "taquin/failure.hpp"

namespace taquin::detail {

/// The map of one rank, by the destinations in `at`, which are true wherever an algorithm is left, and by what `t` says
/// of the blocks that come to this rank. Not known where `t` is not learnt: then nothing has moved, and only what is
/// here is listed. Takes memory for the map.
failure::block_map map_of(const block_map& at, const targets& t, int rank);

/// The same where this rank has failed before its redistribution could begin: all of its blocks stand. `given` is in
/// range. Not known, as above.
failure::block_map map_of(const given_map& given, std::size_t unit_bytes, int rank);

}  // namespace taquin::detail
