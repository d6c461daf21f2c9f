// Whether a datatype may be sent.
#pragma once

#include <mpi.h>

namespace taquin::detail {

/// What is wrong with a datatype that cannot be sent, or null: MPI_Type_commit was not called for it. Local.
const char* invalid_text_of(MPI_Datatype type) noexcept;

}  // namespace taquin::detail
