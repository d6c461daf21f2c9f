// The C API's memory that the ranks of a node can map.
#include <new>

#include "base/sizes.hpp"
#include "c/translate.hpp"
#include "taquin/error.hpp"
#include "taquin/shared_buffer.hpp"
#include "taquin/taquin.h"

// MPI need not run.
int TAQUIN_Alloc_shared(MPI_Aint size, void* baseptr) {
  using namespace taquin::detail;
  try {
    if (baseptr == nullptr) throw taquin::usage_error("null address for the memory", MPI_ERR_ARG);
    if (size < 0) throw taquin::usage_error("a negative size", MPI_ERR_SIZE);
    *static_cast<void**>(baseptr) = nullptr;
    *static_cast<void**>(baseptr) = taquin::allocate_shared(as_size(size));
    return MPI_SUCCESS;
  } catch (...) {
    return raise(MPI_COMM_NULL, code_of_current_exception());
  }
}

int TAQUIN_Free_shared(void* base) {
  taquin::free_shared(base);
  return MPI_SUCCESS;
}
