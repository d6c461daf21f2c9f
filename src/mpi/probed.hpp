// Messages that are probed and then received, from any rank or from one.
#pragma once

#include <mpi.h>

#include "mpi/check.hpp"

namespace taquin::mpi {

/// A message that was found, which no other thread can receive.
struct probed {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  int from = -1;
  int tag = 0;
  int bytes = 0;

  /// True where there is one with this tag.
  bool poll(MPI_Comm on, int with_tag, int source = MPI_ANY_SOURCE) {
    int found = 0;
    MPI_Status status;
    comm = on;
    tag = with_tag;
#ifdef TAQUIN_SMPI  // which has no matched probes; its ranks have one thread each
    TAQUIN_MPI(PMPI_Iprobe(source, tag, comm, &found, &status));
#else
    TAQUIN_MPI(PMPI_Improbe(source, tag, comm, &found, &message, &status));
#endif
    if (found == 0) return false;
    found_with(status);
    return true;
  }
  /// Waits for one. For programs in which no rank aborts.
  void wait(MPI_Comm on, int with_tag) {
    MPI_Status status;
    comm = on;
    tag = with_tag;
#ifdef TAQUIN_SMPI
    TAQUIN_MPI(PMPI_Probe(MPI_ANY_SOURCE, tag, comm, &status));
#else
    TAQUIN_MPI(PMPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status));
#endif
    found_with(status);
  }
  void receive(void* into) {
#ifdef TAQUIN_SMPI
    TAQUIN_MPI(PMPI_Recv(into, bytes, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE));
#else
    TAQUIN_MPI(PMPI_Mrecv(into, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
#endif
  }

 private:
  void found_with(const MPI_Status& status) {
    from = status.MPI_SOURCE;
    TAQUIN_MPI(PMPI_Get_count(&status, MPI_BYTE, &bytes));
  }
};

}  // namespace taquin::mpi
