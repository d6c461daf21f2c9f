/* communicators FUNCTION MICROSECONDS: all ranks make a communicator of all of them, again and again, without taquin;
   rank 1 is killed after a time, or with 0 before the first one. Says of each other rank how it came out of it.
   FUNCTION: group (MPI_Comm_create_group), create, split or dup. To be started by `mpirun --with-ft ulfm`. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { patience = 4 }; /* seconds */

static void die(int number) {
  (void)number;
  kill(getpid(), SIGKILL);
}

static void report_that_it_hangs(int number) {
  static const char text[] = "hangs\n";
  (void)number;
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(10);
  _exit(9);
}

static int make(const char *function, MPI_Comm all, MPI_Group group, int rank, MPI_Comm *made) {
  if (strcmp(function, "group") == 0) return MPI_Comm_create_group(all, group, 7, made);
  if (strcmp(function, "create") == 0) return MPI_Comm_create(all, group, made);
  if (strcmp(function, "split") == 0) return MPI_Comm_split(all, 0, rank, made);
  return MPI_Comm_dup(all, made);
}

int main(int argc, char **argv) {
  int rank, code = MPI_SUCCESS;
  MPI_Comm all;
  MPI_Group group;
  if (argc < 3) return 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_group(all, &group);
  MPI_Barrier(all);
  if (rank == 1) {
    const struct itimerval once = {{0, 0}, {0, atoi(argv[2])}};
    if (once.it_value.tv_usec == 0) die(0);
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &once, NULL);
  } else {
    signal(SIGALRM, report_that_it_hangs);
    alarm(patience);
  }
  while (code == MPI_SUCCESS) {
    MPI_Comm made = MPI_COMM_NULL;
    code = make(argv[1], all, group, rank, &made);
    if (code == MPI_SUCCESS) MPI_Comm_free(&made);
  }
  alarm(0);
  printf("ends in an error\n");
  fflush(stdout);
  usleep(300000);
  _exit(0); /* MPI_Finalize may wait for the dead */
}
