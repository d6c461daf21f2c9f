/* An ordinary profiling tool: counts some calls, and reports when MPI is finalised. PROFILER names it. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int exchanges, messages, collectives, completions, frees; /* threads may call */

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm) {
  ++exchanges;
  return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
  ++messages;
  return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++collectives;
  return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

/* The functions that start requests, or test whether they are complete. */
int MPI_Start(MPI_Request *request) {
  ++completions;
  return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request requests[]) {
  ++completions;
  return PMPI_Startall(n, requests);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  ++completions;
  return PMPI_Test(request, flag, status);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
  ++completions;
  return PMPI_Testall(n, requests, flag, statuses);
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
  ++completions;
  return PMPI_Testany(n, requests, index, flag, status);
}

int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
  ++completions;
  return PMPI_Testsome(n, requests, count, indices, statuses);
}

int MPI_Comm_free(MPI_Comm *comm) {
  ++frees;
  return PMPI_Comm_free(comm);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    fprintf(stderr, "%s: %d exchanges, %d messages, %d collectives, %d completions, %d frees\n", PROFILER, exchanges,
            messages, collectives, completions, frees);
  return PMPI_Finalize();
}
