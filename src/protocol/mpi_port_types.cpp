// Derived types of the port's transfers.
#include <mpi.h>

#include <algorithm>

#include "base/sizes.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "protocol/mpi_port.hpp"

namespace taquin::detail {

// Several runs as one type: MPI libraries gather and scatter data as they go, part by part.
mpi::datatype mpi_port::type_of(std::span<const unit_run> runs) {
  const count_t unit = store_.plain() ? static_cast<count_t>(store_.unit_bytes()) : store_.length();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TAQUIN_MPI(PMPI_Get_address(store_.at(runs[i].at), &addresses_[i]));
    lengths_[i] = static_cast<int>(runs[i].length * unit);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_create_hindexed(static_cast<int>(runs.size()), lengths_.data(), addresses_.data(),
                                       store_.plain() ? MPI_BYTE : store_.element().type, &type));
  mpi::datatype owner(type);
  TAQUIN_MPI(PMPI_Type_commit(&type));
  return owner;
}

// The parts of a run in all columns.
mpi::datatype mpi_port::type_of_columns(const unit_run& run) {
  const auto columns = store_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    TAQUIN_MPI(PMPI_Get_address(store_.at(run.at, columns[i]), &addresses_[i]));
    lengths_[i] = static_cast<int>(run.length * static_cast<count_t>(columns[i].bytes));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  TAQUIN_MPI(
      PMPI_Type_create_hindexed(static_cast<int>(columns.size()), lengths_.data(), addresses_.data(), MPI_BYTE, &type));
  mpi::datatype owner(type);
  TAQUIN_MPI(PMPI_Type_commit(&type));
  return owner;
}

// A receive of several columns, to the length of its message.
void mpi_port::shorten(std::size_t t, const MPI_Status& status) {
  if (store_.columns().empty()) return;
  const count_t units = mpi::bytes_of(status) / static_cast<count_t>(store_.unit_bytes());
  transfers_[t].length = std::min(transfers_[t].length, units);
}

}  // namespace taquin::detail
