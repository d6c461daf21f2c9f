// Which MPI library runs, for the few places where libraries behave differently. It is known at build time, except in
// the build for MPI's standard ABI, which queries the library.
#pragma once

#include <mpi.h>

namespace taquin::mpi {

enum class library { open_mpi, mpich, other };

#if defined(OMPI_MAJOR_VERSION)
constexpr library running_library() noexcept { return library::open_mpi; }
#elif defined(MPICH_NAME)
constexpr library running_library() noexcept { return library::mpich; }
#else
library running_library() noexcept;
#endif

}  // namespace taquin::mpi
