/* Memory that the program asks MPI for. Exchanges of large blocks out of a shared window are plain copies, and so are
 * those out of memory from MPI_Alloc_mem with TAQUIN_ALLOC_MEM=shared: this program counts the kernel's copies. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "checks.h"

enum { block = 200000, calls = 6, many = 300 };

static int ranks;
static long copies;

/* Stands before the C library's for all libraries of this program. */
ssize_t process_vm_readv(pid_t process, const struct iovec *here, unsigned long n, const struct iovec *there,
                         unsigned long m, unsigned long flags) {
  ++copies;
  return syscall(SYS_process_vm_readv, process, here, n, there, m, flags);
}

static unsigned char byte_of(int from, int to, int i) { return (unsigned char)(from * 7 + to * 13 + i); }

/* The kernel's copies of the last call; the first two calls on a communicator are the MPI library's. */
static long exchange(MPI_Comm comm, unsigned char *send, unsigned char *recv) {
  int rank = 0, p = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  for (int call = 0; call < calls; ++call) {
    for (int to = 0; to < p; ++to)
      for (int i = 0; i < block; ++i) send[to * block + i] = byte_of(rank + call, to, i);
    memset(recv, 0, (size_t)p * block);
    copies = 0;
    OK(MPI_Alltoall(send, block, MPI_BYTE, recv, block, MPI_BYTE, comm));
    for (int from = 0; from < p; ++from)
      for (int i = 0; i < block; ++i) CHECK(recv[from * block + i] == byte_of(from + call, rank, i));
  }
  return copies;
}

static void windows(unsigned char *recv) {
  unsigned char *own = NULL;
  MPI_Win window;
  /* Two processes have mapped it. The others copy its blocks by the kernel. */
  MPI_Comm some;
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, 0, &some));
  OK(MPI_Win_allocate_shared((MPI_Aint)ranks * block, 1, MPI_INFO_NULL, some, &own, &window));
  const long all = exchange(MPI_COMM_WORLD, own, recv);
  printf("a window of some: %ld of %d by the kernel\n", all, ranks - 1);
  const long mapped = exchange(some, own, recv);
  printf("a window of all: %ld by the kernel\n", mapped);
  OK(MPI_Win_free(&window));
  /* Memory at the same place that is no window's. */
  for (int i = 0; i < 4; ++i) {
    unsigned char *const other = malloc((size_t)ranks * block);
    printf("no window: %ld of %d by the kernel\n", exchange(MPI_COMM_WORLD, other, recv), ranks - 1);
    free(other);
  }
  /* Ranks without memory of their own. */
  OK(MPI_Win_allocate_shared(world_rank == 0 ? (MPI_Aint)ranks * block : 0, 1, MPI_INFO_NULL, some, &own, &window));
  OK(MPI_Win_free(&window));
  OK(MPI_Comm_free(&some));
}

static void allocated(unsigned char *recv) {
  unsigned char *send = NULL;
  OK(MPI_Alloc_mem((MPI_Aint)ranks * block, MPI_INFO_NULL, &send));
  printf("MPI_Alloc_mem: %ld of %d by the kernel\n", exchange(MPI_COMM_WORLD, send, recv), ranks - 1);
  OK(MPI_Free_mem(send));
  /* More than a process has file descriptors for, and some that are small. */
  static unsigned char *all[many];
  for (int i = 0; i < many; ++i) {
    const int bytes = i % 3 == 0 ? 100 : 100000;
    OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &all[i]));
    memset(all[i], i, (size_t)bytes);
  }
  const int file = dup(0);
  CHECK(file >= 0 && file < 1000);
  close(file);
  for (int i = 0; i < many; ++i) {
    CHECK(all[i][99] == (unsigned char)i);
    OK(MPI_Free_mem(all[i]));
  }
  OK(MPI_Alloc_mem((MPI_Aint)ranks * block, MPI_INFO_NULL, &send));
  printf("MPI_Alloc_mem again: %ld of %d by the kernel\n", exchange(MPI_COMM_WORLD, send, recv), ranks - 1);
  OK(MPI_Free_mem(send));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char *const recv = malloc((size_t)ranks * block);
  CHECK(recv != NULL && argc > 1);
  strcmp(argv[1], "windows") == 0 ? windows(recv) : allocated(recv);
  free(recv);
  MPI_Finalize();
  return 0;
}
