// The C API's options: an attribute of the communicator.
#pragma once

#include <mpi.h>

#include <memory>

#include "base/option_table.hpp"
#include "taquin/options.hpp"
#include "taquin/taquin.h"

namespace taquin::detail {

/// The options that TAQUIN_Comm_set_options set on `comm`, or the defaults. The texts live as long as the setting.
options options_of(MPI_Comm comm);

/// The same with those options that only some operations have. Allocates nothing.
const owned_options& chosen_for(MPI_Comm comm);

/// Where the calls on `comm` are counted, by options_of(); null if they are not. For plans: the program may set them
/// again meanwhile.
std::shared_ptr<statistics> statistics_of(MPI_Comm comm);

/// The options set on `comm`, with the hints of `info`, which may be MPI_INFO_NULL, on top. Throws usage_error for an
/// unknown hint of taquin's, and for a value that its key does not allow.
owned_options options_of(MPI_Comm comm, MPI_Info info);

/// `wanted` as far as its caller knows it. Throws usage_error for null and for a struct without its size.
void give_statistics(const statistics& counted, TAQUIN_Statistics* wanted);

}  // namespace taquin::detail
