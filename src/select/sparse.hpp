// The algorithm of sparse exchanges, by the measurements of `taquin tune`.
#pragma once

#include "algorithms/sparse/algorithm.hpp"
#include "select/selection.hpp"

namespace taquin::detail {

/// The fastest over all sizes of those that were measured on as many ranks with as many blocks, to an octave, and that
/// suit the call; null where none was. One that lacks a size that others have is left out.
const sparse_algorithm* fastest_sparse(const profile& p, const sparse_shape& s);

}  // namespace taquin::detail
