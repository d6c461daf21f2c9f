// The bucket datatype, made within a memory limit.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory_resource>

#include "mpi/owned.hpp"
#include "taquin/datatypes.hpp"

namespace taquin::detail {

/// As make_datatype(b, base), with all lists from `memory`: bucket_type_bytes() of the number of buckets. Local.
datatype make_bucket_type(const bucket& b, MPI_Datatype base, std::pmr::memory_resource* memory);

constexpr std::size_t bucket_type_bytes(std::size_t buckets) noexcept {
  return buckets * (sizeof(mpi::datatype) + sizeof(int) + sizeof(MPI_Aint) + sizeof(MPI_Datatype));
}

}  // namespace taquin::detail
