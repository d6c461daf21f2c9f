/* killed HOW: rank 1 ends in the middle of the run by SIGKILL, or calls MPI_Abort; the others wait for it in an
 * exchange. */
#include <mpi.h>
#include <signal.h>
#include <string.h>

enum { most = 16, bytes = 1 << 16 };
static char out[most * bytes], in[most * bytes];

int main(int argc, char **argv) {
  int rank;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int n = 0; n < 3; ++n) {
    MPI_Alltoall(out, 1, MPI_CHAR, in, 1, MPI_CHAR, comm);
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
  }
  if (rank == 1 && argc > 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(comm, 3);
  if (rank == 1) raise(SIGKILL);
  MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, comm);
  return MPI_Finalize();
}
