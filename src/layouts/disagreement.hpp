// The error of ranks that give different layouts, or move something else.
#pragma once

#include "layouts/copy_chunk.hpp"
#include "layouts/number_change.hpp"
#include "mpi/communicator.hpp"
#include "taquin/layout.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// Arguments that must be the same on all ranks; valid on this one.
struct move_arguments {
  const layout& from;
  const layout& to;
  const layout_options& options;
  count_t element_bytes;
  const number_change& change;
  const written_part& part;
  bool in_one_array;
};

/// Throws usage_error on all ranks: the first argument in which a rank differs from rank 0, the lowest such rank, and
/// both values. Collective, after an agreement that ranks differ; allocates nothing.
[[noreturn]] void refuse_disagreement(mpi::communicator& comm, const move_arguments& mine);

}  // namespace taquin::detail
