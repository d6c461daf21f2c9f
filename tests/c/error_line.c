/* A failing call under the error handler that is named: fatal (MPI's default), return, own. With `alone` the last rank
   alone fails. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "taquin/taquin.h"

static void report(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  printf("the program's handler has code %s\n", *code == MPI_SUCCESS ? "0" : "of an error");
}

int main(int argc, char **argv) {
  const char *handler = argc > 1 ? argv[1] : "";
  const int alone = argc > 2 && strcmp(argv[2], "alone") == 0;
  int rank = 0, ranks = 0, code;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(handler, "return") == 0) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(handler, "own") == 0) {
    MPI_Errhandler made;
    MPI_Comm_create_errhandler(report, &made);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, made);
    MPI_Errhandler_free(&made);
  }
  if (alone)
    code = rank == ranks - 1 ? TAQUIN_Start(NULL) : MPI_SUCCESS;
  else
    code = TAQUIN_Alltoall(NULL, 1, MPI_INT, NULL, 1, MPI_INT, MPI_COMM_WORLD);
  if (code != MPI_SUCCESS) printf("survived with: %s\n", TAQUIN_Last_error());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
