// The C API's options: an attribute of the communicator.
#pragma once

#include <mpi.h>

#include "base/option_table.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// What TAQUIN_Comm_set_options set on `comm`, or the defaults. The texts live as long as the setting.
options options_of(MPI_Comm comm);

/// The same with the hints of `info`, which may be MPI_INFO_NULL, on top. Throws usage_error for a hint's value that is
/// not what its key asks for.
owned_options options_of(MPI_Comm comm, MPI_Info info);

}  // namespace taquin::detail
