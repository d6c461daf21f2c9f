/* Persistent exchanges among neighbours, where the MPI library has them: HAVE_INIT. */
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4
#define HAVE_INIT
#define NEIGHBOR_ALLTOALLV_INIT MPI_Neighbor_alltoallv_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define HAVE_INIT
#define NEIGHBOR_ALLTOALLV_INIT MPIX_Neighbor_alltoallv_init
#endif
#endif
