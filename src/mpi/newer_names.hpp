// Sizes and extents in MPI_Count have other names since MPI 4; MPI 4.1 deprecates those before, which are used here.
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4
#undef MPI_Get_elements_x
#define MPI_Get_elements_x PMPI_Get_elements_c
#undef MPI_Type_get_extent_x
#define MPI_Type_get_extent_x PMPI_Type_get_extent_c
#undef MPI_Type_get_true_extent_x
#define MPI_Type_get_true_extent_x PMPI_Type_get_true_extent_c
#undef MPI_Type_size_x
#define MPI_Type_size_x PMPI_Type_size_c
#endif
