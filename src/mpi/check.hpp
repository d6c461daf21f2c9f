// Every MPI call's result is looked at.
#pragma once

#include <mpi.h>

namespace taquin::mpi {

[[noreturn]] void fail(int code, const char* call);

/// The error class of an MPI error code.
int class_of(int code);

/// True from MPI_Finalize on: what is left can no longer be freed, and need not be.
bool finalized();
/// True from MPI_Init until then.
bool running();

/// Throws mpi_error unless `code` is MPI_SUCCESS. `call` is the function's name, a string literal.
inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    fail(code, call);
}

}  // namespace taquin::mpi

/// TAQUIN_MPI(MPI_Barrier(comm)) calls it and throws on failure.
#define TAQUIN_MPI(call) ::taquin::mpi::check(call, #call)
