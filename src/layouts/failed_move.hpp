// The whole data after a failed redistribution between layouts, as failure::blocks() has them.
//
// Memory: none before a failure. The map is made when the program requests it, from copies of the layouts and from the
// state of the transfer or the exchange.
#pragma once

#include <cstddef>

#include "layouts/transfer.hpp"
#include "taquin/failure.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// Copies of the arguments that the map of a rank follows from. A unit of its maps is a byte.
struct failed_move {
  layout from;
  layout to;
  layout_options options;
  count_t element;  ///< bytes
  int rank;
  int ranks;

  /// From one array to another. Chunks have these sizes, and arrive in the order of `layout_transfer`.
  [[nodiscard]] failure::block_map between_arrays(const transfer_sizes& sizes, chunks_done done) const;
  /// In one array, whose exchange has ended with the map `streams`: bytes of the stream to or from each peer.
  [[nodiscard]] failure::block_map in_one_array(failure::block_map streams) const;
};

}  // namespace taquin::detail
