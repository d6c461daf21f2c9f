// Included before everything else where the project is compiled for SMPI, SimGrid's simulated MPI: its missing or
// redefined names are handled here and nowhere else.
#pragma once

#define TAQUIN_SMPI 1

#ifdef __cplusplus
#include <mpi.h>

// smpicxx redefines C library functions by macros, which hit members of the same names.
#undef exit
#undef sleep
#undef usleep
#undef getpid
#undef malloc
#undef calloc
#undef realloc
#undef free

// The first start of a persistent send sends a derived datatype's data as they were at MPI_Send_init (SMPI 3.32): sends
// are posted one by one.
#define TAQUIN_NO_PERSISTENT_SENDS
// A duplicate of a derived datatype has lost its layout (SMPI 3.32): callers must keep theirs.
#define TAQUIN_NO_TYPE_DUPLICATES
#endif
