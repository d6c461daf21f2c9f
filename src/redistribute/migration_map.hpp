// The whole items after a migration has failed: the exchange in place knows them in bytes.
#pragma once

#include <cstddef>

#include "taquin/failure.hpp"

namespace taquin::detail {

/// The map of an exchange whose items are `units` units of its own, and have `bytes` bytes of data. An item of which
/// not all units are in one state is missing at its receiver, and with its sender it is not listed.
failure::block_map map_of_items(const failure::block_map& of_units, std::size_t units, std::size_t bytes);

}  // namespace taquin::detail
