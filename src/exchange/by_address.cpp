#include "exchange/by_address.hpp"

#include <cstddef>
#include <cstdint>

#include "mpi/check.hpp"

namespace taquin::detail {

void append_by_address(const blocks& b, int ranks, std::pmr::vector<int>& counts, std::pmr::vector<MPI_Datatype>& types,
                       std::pmr::vector<mpi::datatype>& owned) {
  for (int i = 0; i < ranks; ++i) {
    const block k = b[i];
    if (k.bytes() == 0) {
      counts.push_back(0);
      types.push_back(MPI_BYTE);
      continue;
    }
    int parts = 1;
    while (static_cast<std::uint32_t>(k.bytes() / parts) == 0 && k.count / parts % 2 == 0) parts *= 2;
    counts.push_back(parts);
    auto run = mpi::make_counted(k.count / parts, k.element.type);
    if (run.owner) owned.push_back(std::move(run.owner));
    MPI_Aint address = 0;
    TAQUIN_MPI(PMPI_Get_address(static_cast<std::byte*>(b.base) + k.offset, &address));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TAQUIN_MPI(PMPI_Type_create_hindexed(1, &run.count, &address, run.type, &type));
    owned.emplace_back(type);
    TAQUIN_MPI(PMPI_Type_commit(&type));
    types.push_back(type);
  }
}

}  // namespace taquin::detail
