! module taquin_mpi: the same for programs that use the older module mpi, whose handles are integers.
#define COMM integer
#define DATATYPE integer
#define INFO integer
#define OPERATION integer
! Names of modules stand here as they are, without the preprocessor: CMake looks for them before it runs.
module taquin_mpi
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  private

#include "module.inc"
end module
