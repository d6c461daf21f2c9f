#include "node/shared_scratch.hpp"

#include "base/environment.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"

namespace taquin::detail {

shared_scratch shared_scratch::make(MPI_Comm node, std::size_t bytes) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(node, &rank));
  TAQUIN_MPI(PMPI_Comm_size(node, &ranks));
  // The caller may have named ranks of different machines as one node. On another machine the key means something else.
  struct {
    mapping_key key;
    std::uint64_t host = host_id();
  } first;
  const mapping_closer when_attached(first.key);
  shared_scratch s;
  s.ranks_ = static_cast<std::uint64_t>(ranks);
  const bool wanted = environment::get().shared_memory;
  if (rank == 0 && wanted) s.memory_ = mapping::create(bytes, first.key, mapping::pages::now);
  mpi::broadcast(std::span(&first, 1), 0, node);
  if (rank != 0 && wanted && first.host == host_id()) s.memory_ = mapping::attach(first.key);
  return mpi::holds_everywhere(!s.memory_.empty(), node) ? std::move(s) : shared_scratch();
}

}  // namespace taquin::detail
