// Objects that taquin keeps with a user's communicator.
#pragma once

#include <mpi.h>

#include "mpi/check.hpp"

namespace taquin::mpi {

/// A T that is an attribute of communicators. A duplicate of the communicator has none of its own unless `on_copy` is
/// set.
template <class T>
class attribute {
 public:
  explicit attribute(MPI_Comm_delete_attr_function* on_delete,
                     MPI_Comm_copy_attr_function* on_copy = MPI_COMM_NULL_COPY_FN) {
    TAQUIN_MPI(PMPI_Comm_create_keyval(on_copy, on_delete, &key_, nullptr));
  }
  /// Null if there is none.
  [[nodiscard]] T* find(MPI_Comm comm) const {
    void* value = nullptr;
    int found = 0;
    TAQUIN_MPI(PMPI_Comm_get_attr(comm, key_, static_cast<void*>(&value), &found));
    return found != 0 ? static_cast<T*>(value) : nullptr;
  }
  /// Gives the value to the communicator, which owns it from now on.
  void set(MPI_Comm comm, T* value) const { TAQUIN_MPI(PMPI_Comm_set_attr(comm, key_, value)); }
  void erase(MPI_Comm comm) const { TAQUIN_MPI(PMPI_Comm_delete_attr(comm, key_)); }

 private:
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace taquin::mpi
