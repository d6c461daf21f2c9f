#include "datatypes/committed.hpp"

#include "base/invalid_argument.hpp"

namespace taquin::detail {

namespace {

bool is_common(MPI_Datatype type) noexcept {
  return type == MPI_DOUBLE || type == MPI_INT || type == MPI_BYTE || type == MPI_FLOAT || type == MPI_CHAR ||
         type == MPI_LONG || type == MPI_DATATYPE_NULL;
}

// A communicator of this process alone, which returns errors.
MPI_Comm alone() noexcept {
  static const MPI_Comm one = [] {
    MPI_Comm made = MPI_COMM_NULL;
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made) != MPI_SUCCESS) return MPI_COMM_NULL;
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  return one;
}

}  // namespace

// MPI has no query for it, but refuses to send an element of such a type, to MPI_PROC_NULL as well.
const char* invalid_text_of(MPI_Datatype type) noexcept {
  if (is_common(type) || alone() == MPI_COMM_NULL) return nullptr;
  static const char unread = 0;
  const int code = PMPI_Send(&unread, 1, type, MPI_PROC_NULL, 0, alone());
  int mpi_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &mpi_class);
  return mpi_class == MPI_ERR_TYPE ? uncommitted_text : nullptr;
}

}  // namespace taquin::detail
