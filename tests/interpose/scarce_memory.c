/* Memory runs out in a function of MPI that completes several requests: an error of MPI, and the program goes on. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Alltoall_init MPIX_Alltoall_init
#endif

#include "checks.h"

int main(int argc, char **argv) {
  enum { many = 100000000 };
  int ranks = 0, flag = 0, index = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int *const send = calloc((size_t)ranks, sizeof(int)), *const recv = calloc((size_t)ranks, sizeof(int));
  for (int i = 0; i < ranks; ++i) send[i] = world_rank * 10 + i;
  MPI_Request one;
  OK(MPI_Alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &one));
  OK(MPI_Start(&one));
  /* The array is not read: its copy, which taquin passes on, has no memory. */
  MPI_Request *const requests = mmap(NULL, many * sizeof(MPI_Request), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(requests != MAP_FAILED);
  struct rlimit before, none;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  none = before;
  none.rlim_cur = 1;
  CHECK(setrlimit(RLIMIT_AS, &none) == 0);
  const int start = class_of(MPI_Startall(many, requests));
  const int all = class_of(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
  const int any = class_of(MPI_Testany(many, requests, &index, &flag, MPI_STATUS_IGNORE));
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(start == MPI_ERR_NO_MEM);
  CHECK(all == MPI_ERR_NO_MEM);
  CHECK(any == MPI_ERR_NO_MEM);
  OK(MPI_Wait(&one, MPI_STATUS_IGNORE));
  for (int i = 0; i < ranks; ++i) CHECK(recv[i] == i * 10 + world_rank);
  OK(MPI_Request_free(&one));
  free(send);
  free(recv);
  MPI_Finalize();
  return 0;
}
