#include "handles.hpp"

#include <mpi4py/mpi4py.h>

#include "taquin/error.hpp"

namespace py = pybind11;

namespace taquin::python {

void load_mpi4py() {
  if (import_mpi4py() < 0) throw py::error_already_set();
}

void check_running() {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started == 0) throw usage_error("MPI is not initialized yet: call mpi4py.MPI.Init() first", MPI_ERR_COMM);
  if (ended != 0) throw usage_error("MPI is finalized already", MPI_ERR_COMM);
}

MPI_Comm comm_of(const py::handle& comm) {
  if (!PyObject_TypeCheck(comm.ptr(), &PyMPIComm_Type))
    throw usage_error("the communicator is not an mpi4py.MPI.Comm", MPI_ERR_COMM);
  check_running();
  const MPI_Comm handle = *PyMPIComm_Get(comm.ptr());
  if (handle == MPI_COMM_NULL)
    throw usage_error("the communicator is COMM_NULL: this process is not in it, or it was freed", MPI_ERR_COMM);
  return handle;
}

MPI_Comm usable_comm(PyObject* comm) noexcept {
  if (comm == nullptr || !PyObject_TypeCheck(comm, &PyMPIComm_Type)) return MPI_COMM_NULL;
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started == 0 || ended != 0) return MPI_COMM_NULL;
  return *PyMPIComm_Get(comm);
}

MPI_Datatype datatype_of(const py::handle& type) {
  if (!PyObject_TypeCheck(type.ptr(), &PyMPIDatatype_Type))
    throw usage_error("not an mpi4py.MPI.Datatype", MPI_ERR_TYPE);
  return *PyMPIDatatype_Get(type.ptr());
}

in_use::in_use(std::atomic<bool>& flag) : flag_(flag) {
  if (flag_.exchange(true)) {
    throw usage_error("another thread is in a call on this object, which serves one thread at a time", MPI_ERR_REQUEST);
  }
}

}  // namespace taquin::python
