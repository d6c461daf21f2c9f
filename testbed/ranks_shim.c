/* Preloaded into oversubscribed ranks, where each would spin for messages of the others.
 * 1. A poll of the network that finds nothing yields the core.
 * 2. Debian's MPICH 4.0.2 over UCX can hang in MPI_Finalize: ranks wait in a barrier of the launcher, making no
 *    progress, for which others still wait in order to disconnect (pmodels/mpich, pull request 6596). Here all ranks
 *    synchronize before, and no rank waits for a disconnection. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

int epoll_wait(int fd, struct epoll_event* events, int most, int timeout) {
  static int (*real)(int, struct epoll_event*, int, int);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "epoll_wait");
  const int found = real(fd, events, most, timeout);
  if (found == 0 && timeout == 0) sched_yield();
  return found;
}

int poll(struct pollfd* fds, nfds_t n, int timeout) {
  static int (*real)(struct pollfd*, nfds_t, int);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "poll");
  const int found = real(fds, n, timeout);
  if (found == 0 && timeout == 0) sched_yield();
  return found;
}

void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return 0; /* UCS_OK: nothing to wait for */
}

int MPI_Finalize(void) {
  int (*finalize)(void);
  int (*barrier)(int);
  *(void**)&finalize = dlsym(RTLD_NEXT, "MPI_Finalize");
  *(void**)&barrier = dlsym(RTLD_NEXT, "MPI_Barrier");
  if (dlsym(RTLD_DEFAULT, "ucp_worker_create") && !dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
    barrier(0x44000000); /* MPICH's MPI_COMM_WORLD */
  return finalize();
}
