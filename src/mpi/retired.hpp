// The end of private communicators that ranks have freed: see retired.cpp.
#pragma once

namespace taquin::mpi {

/// From now on MPI_Finalize waits for the ranks that have not freed theirs. Local.
void free_retired_at_end();

}  // namespace taquin::mpi
