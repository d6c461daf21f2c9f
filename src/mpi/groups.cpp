#include "mpi/groups.hpp"

#include "mpi/check.hpp"

namespace taquin::mpi {

owned_comm create_group(MPI_Comm comm, std::span<const int> ranks, int tag) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  TAQUIN_MPI(PMPI_Comm_group(comm, &all));
  TAQUIN_MPI(PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  TAQUIN_MPI(PMPI_Comm_create_group(comm, some, tag, &made));
  TAQUIN_MPI(PMPI_Group_free(&some));
  TAQUIN_MPI(PMPI_Group_free(&all));
  return owned_comm(made);
}

}  // namespace taquin::mpi
