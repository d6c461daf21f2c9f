// Checks the result of every MPI call.
#pragma once

#include <mpi.h>

namespace taquin::mpi {

[[noreturn]] void fail(int code, const char* call);

/// The error class of an MPI error code.
int class_of(int code);

/// True from MPI_Finalize on. Remaining MPI objects can then no longer be freed, and need not be.
bool finalized();
/// True from MPI_Init until then.
bool running();

/// Throws mpi_error unless `code` is MPI_SUCCESS. `call` is the function's name or the call, a string literal; errors
/// name it without the P of PMPI.
inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    fail(code, call);
}

}  // namespace taquin::mpi

/// TAQUIN_MPI(PMPI_Barrier(comm)) calls it and throws on failure. taquin calls MPI by its PMPI names, so that profiling
/// tools do not count its calls as the program's; errors print the names that users know.
#define TAQUIN_MPI(call) ::taquin::mpi::check(call, #call)
