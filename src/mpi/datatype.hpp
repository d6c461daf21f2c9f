// Move-only owner of a derived datatype.
#pragma once

#include <mpi.h>

#include <utility>

#include "mpi/check.hpp"

namespace taquin::mpi {

class datatype {
 public:
  datatype() noexcept = default;
  /// Adopts a derived type; predefined types must not be given.
  explicit datatype(MPI_Datatype type) noexcept : type_(type) {}
  datatype(datatype&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  datatype& operator=(datatype&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~datatype() {
    if (type_ != MPI_DATATYPE_NULL && !finalized()) MPI_Type_free(&type_);
  }

  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
  [[nodiscard]] MPI_Datatype release() noexcept { return std::exchange(type_, MPI_DATATYPE_NULL); }
  explicit operator bool() const noexcept { return type_ != MPI_DATATYPE_NULL; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace taquin::mpi
