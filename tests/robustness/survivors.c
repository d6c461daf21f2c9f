/* One rank dies, stops, or leaves, before its Nth exchange; the others must leave the exchange with an error of a
 * failed process, agree on a smaller communicator, and go on there: survivors HOW N BYTES, HOW one of kill, exit,
 * abort, stop. For MPI libraries that go on after a failure. Prints what happened; the exit status of survivors is 0 if
 * all was right. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#ifndef MPIX_ERR_PROC_FAILED
int main(void) {
  printf("this MPI library does not go on after a failure\n");
  return 77;
}
#else

static void leave(const char *how) {
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "stop") == 0) {
    if (fork() == 0) {
      usleep(1500000);
      kill(getppid(), SIGCONT);
      _exit(0);
    }
    kill(getpid(), SIGSTOP);
    return;
  }
  kill(getpid(), SIGKILL);
}

/* Every block says where it comes from. Counts of wrong bytes, or the error. */
static int exchange(MPI_Comm comm, int bytes, int salt, int *wrong) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  unsigned char *out = malloc((size_t)bytes * size), *in = malloc((size_t)bytes * size);
  for (int i = 0; i < size; i++) memset(out + (size_t)i * bytes, rank * 31 + i * 7 + salt, bytes);
  memset(in, 0, (size_t)bytes * size);
  const int code = MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
  *wrong = 0;
  for (int i = 0; code == MPI_SUCCESS && i < size; i++)
    for (int k = 0; k < bytes; k++) *wrong += in[(size_t)i * bytes + k] != (unsigned char)(i * 31 + rank * 7 + salt);
  free(out);
  free(in);
  return code;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "kill";
  const int step = argc > 2 ? atoi(argv[2]) : 100;
  const int bytes = argc > 3 ? atoi(argv[3]) : 8;
  MPI_Init(&argc, &argv);
  MPI_Comm comm, smaller;
  int rank, size, wrong = 0, class = MPI_SUCCESS, bad = 0, count = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double last = MPI_Wtime();
  for (count = 1; count <= step + 20; count++) {
    if (rank == 1 && count == step) leave(how);
    last = MPI_Wtime();
    const int code = exchange(comm, bytes, count, &wrong);
    if (code != MPI_SUCCESS) {
      MPI_Error_class(code, &class);
      break;
    }
    bad += wrong != 0;
  }
  const double took = MPI_Wtime() - last;
  if (strcmp(how, "stop") == 0) {
    printf("rank %d: %d exchanges, %d wrong, class %d\n", rank, count - 1, bad, class);
    fflush(stdout);
    MPI_Finalize();
    return bad != 0 || class != MPI_SUCCESS;
  }
  bad += class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED;
  MPIX_Comm_revoke(comm);
  MPIX_Comm_shrink(comm, &smaller);
  MPI_Comm_set_errhandler(smaller, MPI_ERRORS_RETURN);
  MPI_Comm_free(&comm);
  for (int i = 0; i < 100; i++) {
    const int code = exchange(smaller, 1 + (bytes * (i + 1)) / 50, i, &wrong);
    bad += code != MPI_SUCCESS || wrong != 0;
  }
  int ranks = 0;
  MPI_Comm_size(smaller, &ranks);
  printf("rank %d: left call %d after %.2f s with class %s; %d ranks go on, %s\n", rank, count, took,
         class == MPIX_ERR_PROC_FAILED ? "PROC_FAILED"
         : class == MPIX_ERR_REVOKED   ? "REVOKED"
                                       : "another",
         ranks, bad != 0 ? "WRONG" : "right");
  fflush(stdout);
  MPI_Comm_free(&smaller);
  _exit(bad != 0 || took > 3);
}
#endif
