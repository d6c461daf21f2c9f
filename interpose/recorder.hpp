// Record mode: keeps what this rank sends, and writes the traffic of all ranks when MPI is finalised.
#pragma once

#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// Notes one successful call. The first one on a communicator is collective: it agrees on the communicator's name.
void note(const exchange& x, double seconds);

/// Gathers the logs of MPI_COMM_WORLD on its rank 0, which writes the file. Collective; to be called before MPI is
/// finalised. Failures are told on standard error and change nothing else.
void write_record() noexcept;

}  // namespace taquin::interpose
