! module taquin: for programs that use mpi_f08.
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define INFO type(MPI_Info)
#define OPERATION type(MPI_Op)
! Names of modules stand here as they are, without the preprocessor: CMake looks for them before it runs.
module taquin
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  private

#include "module.inc"
end module
