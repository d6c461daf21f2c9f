// From exceptions to MPI's error codes and handlers: the one place where the C API and the preloaded library do it.
#pragma once

#include <mpi.h>

namespace taquin::detail {

/// The MPI error code of the exception that is being handled; its text is kept for last_error(). To be called in a
/// catch block.
int code_of_current_exception() noexcept;

/// Calls the error handler of `comm` (of MPI_COMM_WORLD for a null one) with `code` and returns `code`.
int call_errhandler(MPI_Comm comm, int code) noexcept;

/// Runs `f`. An exception becomes the returned code, after the communicator's error handler was called with it.
template <class F>
int guarded(MPI_Comm comm, F&& f) noexcept {
  try {
    f();
    return MPI_SUCCESS;
  } catch (...) {
    return call_errhandler(comm, code_of_current_exception());
  }
}

/// The text of this thread's last failure; empty when there was none.
const char* last_error() noexcept;

}  // namespace taquin::detail
