! module taquin: for programs that use mpi_f08.
#define TAQUIN_MODULE taquin
#define TAQUIN_MPI mpi_f08
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define INFO type(MPI_Info)
#include "module.inc"
