! module taquin_mpi: the same for programs that use the older module mpi, whose handles are integers.
#define TAQUIN_MODULE taquin_mpi
#define TAQUIN_MPI mpi
#define COMM integer
#define DATATYPE integer
#define INFO integer
#include "module.inc"
