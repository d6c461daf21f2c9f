// Exchanges of a workload without MPI ranks: the problems of `plan`, `simulate` and `explain`.
#pragma once

#include "exchange/shape.hpp"
#include "harness/problem.hpp"
#include "simulation/sparse_moves.hpp"
#include "simulation/whole.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

/// Figures that agreement would give. Beyond 4096 ranks those of 16 ranks, spread evenly, stand for all.
detail::shape offline_shape(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind,
                            buffering how);

/// The blocks of all ranks in a sparse exchange: `bytes` are those of a rank, or with `per_pair` those for each
/// destination. For at most 4096 ranks.
detail::sparse_pattern offline_pattern(const workloads::workload& w, int ranks, count_t bytes, bool per_pair,
                                       std::uint64_t seed);

/// One rank's part, with consecutive blocks.
class offline_rank : public detail::known_part {
 public:
  offline_rank(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind, int rank)
      : known_part(kind, rank, w.row(size, rank), w.column(size, rank)) {}
};

}  // namespace taquin::harness
