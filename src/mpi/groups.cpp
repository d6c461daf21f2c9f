#include "mpi/groups.hpp"

#include "mpi/check.hpp"
#include "mpi/failure.hpp"

namespace taquin::mpi {

owned_comm create_groups(MPI_Comm comm, std::span<const int> ranks, int tag) {
  const bool together = survives_failures();
  if (ranks.empty() && !together) return {};
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  TAQUIN_MPI(PMPI_Comm_group(comm, &all));
  TAQUIN_MPI(PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  const int code = together ? PMPI_Comm_create(comm, some, &made) : PMPI_Comm_create_group(comm, some, tag, &made);
  if (!ranks.empty()) PMPI_Group_free(&some);  // else MPI_GROUP_EMPTY
  PMPI_Group_free(&all);
  check(code, together ? "MPI_Comm_create" : "MPI_Comm_create_group");
  return owned_comm(made);
}

}  // namespace taquin::mpi
