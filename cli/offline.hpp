// Exchanges of a workload without MPI ranks: what `plan`, `simulate` and `explain` look at.
#pragma once

#include <vector>

#include "cli/problem.hpp"
#include "exchange/shape.hpp"
#include "workloads/workload.hpp"

namespace taquin::cli {

/// Figures that agreement would give. Beyond 4096 ranks those of 16 ranks, spread evenly, stand for all.
detail::shape offline_shape(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind,
                            buffering how);

/// One rank's part, with blocks in a row.
class offline_rank {
 public:
  offline_rank(const workloads::workload& w, const workloads::problem_size& size, exchange::form kind, int rank);
  offline_rank(const offline_rank&) = delete;
  offline_rank& operator=(const offline_rank&) = delete;
  /// A view of this object.
  [[nodiscard]] detail::local_exchange local() const noexcept;

 private:
  struct side {
    std::vector<count_t> counts;
    std::vector<count_t> displs;
  };
  [[nodiscard]] blocks view(const side& s) const noexcept;
  exchange::form kind_;
  int rank_;
  side send_;
  side recv_;
  std::vector<element> elements_;
};

}  // namespace taquin::cli
