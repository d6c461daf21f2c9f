// Whether a datatype may be sent.
#pragma once

#include <mpi.h>

namespace taquin::detail {

/// The error of a datatype that cannot be sent, because MPI_Type_commit was not called for it, or null. Local.
const char* invalid_text_of(MPI_Datatype type) noexcept;

}  // namespace taquin::detail
