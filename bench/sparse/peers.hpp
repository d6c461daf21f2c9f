// Sparse exchanges by other libraries: they find who sends to whom, and how much; then the data go as programs send
// them, into receives that are posted.
#pragma once

#include <mpi.h>

#include <memory>
#include <string_view>
#include <vector>

#include "harness/sparse_methods.hpp"

namespace taquin::bench {

/// Finds sources, and the one number that each of them has for this rank. Collective.
class finder {
 public:
  finder() = default;
  finder(const finder&) = delete;
  finder& operator=(const finder&) = delete;
  virtual ~finder() = default;
  virtual void find(const std::vector<int>& to, std::vector<int>& numbers, std::vector<int>& from,
                    std::vector<int>& arrived) = 0;
};

struct peer {
  std::string_view name;
  std::unique_ptr<finder> (*make)(MPI_Comm comm);
};

/// Those of one library; after MPI_Init, and before MPI_Finalize.
std::vector<peer> begin_petsc();
void end_petsc();
std::vector<peer> begin_sc();

}  // namespace taquin::bench
