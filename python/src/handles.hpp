// MPI handles of mpi4py's objects, through its C API; and the start of each call.
#pragma once

#include <mpi.h>
#include <pybind11/pybind11.h>

#include <atomic>

namespace taquin::python {

/// Loads mpi4py's C API. Throws pybind11::error_already_set.
void load_mpi4py();

/// Throws usage_error, on this rank, before MPI is initialized and after it was finalized.
void check_running();
/// The communicator. Throws usage_error, on this rank, for any other object, for a freed one, and while MPI is not
/// running.
MPI_Comm comm_of(const pybind11::handle& comm);
/// The same without errors, and without memory: MPI_COMM_NULL for these. `comm` may be null.
MPI_Comm usable_comm(PyObject* comm) noexcept;
/// The datatype. Throws usage_error for any other object.
MPI_Datatype datatype_of(const pybind11::handle& type);

/// Held by a call on an object that serves one thread at a time. Throws usage_error when another thread holds it.
class in_use {
 public:
  explicit in_use(std::atomic<bool>& flag);
  in_use(const in_use&) = delete;
  in_use& operator=(const in_use&) = delete;
  ~in_use() { flag_ = false; }

 private:
  std::atomic<bool>& flag_;
};

}  // namespace taquin::python
