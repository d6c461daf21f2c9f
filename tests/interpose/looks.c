/* Persistent exchanges looked at by MPI 4.1's functions for several requests: what they say is done has arrived.
 * Without messages beside them, of which the MPI libraries' own functions say errors, or nothing. */
#include <mpi.h>
#include <stdio.h>

enum { most = 16, exchanges = 3 };
static int rank, ranks, send[exchanges][most], recv[exchanges][most];

static void check(int right, int line) {
  if (right) return;
  fprintf(stderr, "rank %d: line %d is wrong\n", rank, line);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(what) check(what, __LINE__)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static void check_arrived(int k, int n) {
  for (int i = 0; i < ranks; ++i) CHECK(recv[k][i] == 1000 * n + 100 * k + 10 * i + rank);
}

int main(int argc, char **argv) {
  MPI_Request all[exchanges + 1]; /* the last one stays inactive */
  MPI_Status statuses[exchanges + 1];
  int indices[exchanges + 1], index, count, flag;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  CHECK(ranks <= most);
  for (int k = 0; k <= exchanges; ++k)
    OK(MPI_Alltoall_init(send[k % exchanges], 1, MPI_INT, recv[k % exchanges], 1, MPI_INT, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &all[k]));
  for (int n = 0; n < 12; ++n) {
    for (int k = 0; k < exchanges; ++k) {
      for (int i = 0; i < ranks; ++i) {
        send[k][i] = 1000 * n + 100 * k + 10 * rank + i;
        recv[k][i] = -1;
      }
    }
    for (int k = 0; k < exchanges; ++k) OK(MPI_Start(&all[k]));
    switch (n % 3) {
      case 0:
        for (flag = 0; !flag;) OK(MPI_Request_get_status_all(exchanges + 1, all, &flag, statuses));
        break;
      case 1:
        for (int k = 0; k < exchanges; ++k) {
          MPI_Request two[2] = {all[exchanges], all[k]};
          for (flag = 0; !flag;) OK(MPI_Request_get_status_any(2, two, &index, &flag, statuses));
          CHECK(index == 1);
          check_arrived(k, n);
        }
        break;
      default:
        for (count = 0; count < exchanges;) {
          OK(MPI_Request_get_status_some(exchanges + 1, all, &count, indices, statuses));
          CHECK(count != MPI_UNDEFINED);
          for (int i = 0; i < count; ++i) check_arrived(indices[i], n);
        }
    }
    for (int k = 0; k < exchanges; ++k) check_arrived(k, n);
    OK(MPI_Waitall(exchanges, all, MPI_STATUSES_IGNORE));
  }
  OK(MPI_Request_get_status_any(exchanges + 1, all, &index, &flag, statuses));
  CHECK(flag && index == MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(exchanges + 1, all, &count, indices, statuses));
  CHECK(count == MPI_UNDEFINED);
  for (int k = 0; k <= exchanges; ++k) OK(MPI_Request_free(&all[k]));
  return MPI_Finalize();
}
