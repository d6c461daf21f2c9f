/* Two calls of one function, on lines that tests know: a report lists each. */
#include <mpi.h>

__attribute__((noinline)) void exchange(const int* sent, int* received) {
  MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD); /* line 5 */
  MPI_Alltoall(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD); /* line 6 */
  received[0] = 0;
}

int main(int argc, char** argv) {
  int sent[8] = {0};
  int received[8];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 20; ++i) exchange(sent, received);
  MPI_Finalize();
  return 0;
}
