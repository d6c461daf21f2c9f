#include "node/shared_scratch.hpp"

#include <algorithm>

#include "base/environment.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"

namespace taquin::detail {

shared_scratch shared_scratch::make(MPI_Comm node, std::size_t bytes, std::size_t zeros) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(node, &rank));
  TAQUIN_MPI(PMPI_Comm_size(node, &ranks));
  // The caller may have named ranks of different machines as one node. On another machine the place means something
  // else.
  struct {
    arena_place place;
    std::uint64_t host = host_id();
  } first;
  shared_scratch s;
  s.bytes_ = bytes;
  s.ranks_ = static_cast<std::uint64_t>(ranks);
  const bool wanted = environment::get().shared_memory;
  if (rank == 0 && wanted) s.memory_ = arena_block::make(cache_line + bytes, ranks - 1, first.place);
  if (!s.empty()) std::fill_n(s.memory_.data(), cache_line + zeros, std::byte{0});
  mpi::broadcast(std::span(&first, 1), 0, node);
  if (rank != 0 && wanted && first.host == host_id()) s.memory_ = arena_block::attach(first.place);
  if (mpi::holds_everywhere(!s.empty(), node)) return s;
  s.memory_.take_back();
  return {};
}

}  // namespace taquin::detail
