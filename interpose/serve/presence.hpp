// Whether all ranks have this library and the same settings. Once, right after the MPI library has started.
#pragma once

namespace taquin::interpose {

/// True on all ranks or on none. When it is false, one line on standard error has the reason. Collective over those
/// ranks of MPI_COMM_WORLD that have the library; it waits for the others at most for TAQUIN_INIT_TIMEOUT.
bool agree_to_serve() noexcept;

/// Cancels receives from ranks without the library. Before MPI is finalised.
void forget_absent_ranks() noexcept;

}  // namespace taquin::interpose
