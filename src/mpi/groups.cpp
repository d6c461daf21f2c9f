#include "mpi/groups.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "mpi/check.hpp"
#include "mpi/failure.hpp"

namespace taquin::mpi {

owned_comm create_groups(const communicator& on, std::span<const int> ranks, int number) {
  const bool together = survives_failures();
  if (ranks.empty() && !together) return {};
  const MPI_Comm comm = on.get();
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  TAQUIN_MPI(PMPI_Comm_group(comm, &all));
  TAQUIN_MPI(PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  const int code = together ? PMPI_Comm_create(comm, some, &made)
                            : PMPI_Comm_create_group(comm, some, on.tag_of_groups(number), &made);
  if (!ranks.empty()) PMPI_Group_free(&some);  // else MPI_GROUP_EMPTY
  PMPI_Group_free(&all);
  check(code, together ? "MPI_Comm_create" : "MPI_Comm_create_group");
  return owned_comm(made);
}

void translate_ranks(MPI_Comm comm, int begin, MPI_Comm other, std::span<int> places) {
  constexpr std::size_t at_once = 64;  // on the stack: some callers must not run out of memory here
  std::array<int, at_once> numbers{};
  MPI_Group own = MPI_GROUP_NULL;
  MPI_Group theirs = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(comm, &own));
  TAQUIN_MPI(PMPI_Comm_group(other, &theirs));
  int code = MPI_SUCCESS;
  for (std::size_t done = 0; done < places.size() && code == MPI_SUCCESS; done += at_once) {
    const auto part = places.subspan(done, std::min(at_once, places.size() - done));
    std::iota(numbers.begin(), numbers.end(), begin + static_cast<int>(done));
    code = PMPI_Group_translate_ranks(own, static_cast<int>(part.size()), numbers.data(), theirs, part.data());
  }
  PMPI_Group_free(&own);
  PMPI_Group_free(&theirs);
  check(code, "MPI_Group_translate_ranks");
}

}  // namespace taquin::mpi
