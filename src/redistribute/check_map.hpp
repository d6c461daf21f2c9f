// Is a map of blocks good? Before anything moves, on all ranks alike.
#pragma once

#include <memory_resource>
#include <optional>
#include <span>

#include "exchange/validate.hpp"
#include "mpi/communicator.hpp"
#include "redistribute/machine.hpp"

namespace taquin::detail {

/// A map as the caller gives it.
struct given_map {
  count_t length = 0;
  count_view ranks;
  count_view indices;
  bool same_length = true;  ///< as many indices as ranks
};

/// The first destination out of range, if any. `blocks` holds the length of every rank's array. Local, linear.
std::optional<invalid_argument> check_ranges(const given_map& map, std::span<const count_t> blocks, int rank);

/// Throws usage_error on every rank when two blocks go to one place, naming both. Collective; O(blocks) and a
/// reduction. `t` has been learned; more than `blocks` incoming blocks were refused before. Takes blocks/8 bytes from
/// `memory`.
void check_injective(mpi::communicator& comm, const block_map& map, const targets& t,
                     std::pmr::memory_resource* memory);

}  // namespace taquin::detail
