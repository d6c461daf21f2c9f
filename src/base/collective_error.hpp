// Errors that all ranks throw in the same place, also a rank that has no memory for the text of its own.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>

#include "taquin/error.hpp"

namespace taquin::detail {

/// Throws an error of all ranks that was made when the library was loaded: "out of memory on a rank" (MPI_ERR_NO_MEM).
[[noreturn]] void throw_lack_of_memory();

/// Throws the error that `make()` returns, on all ranks; or where there is no memory for it, the one above. A rank that
/// threw std::bad_alloc instead would abort the call, while the others go on.
template <class Make>
[[noreturn]] void throw_on_all_ranks(Make make) {
  try {
    throw on_all_ranks(make());
  } catch (const std::bad_alloc&) {
    throw_lack_of_memory();
  }
}

/// Throws budget_exceeded on all ranks: `what` needs `needed` bytes of scratch memory, `allowed` are allowed. `usual`:
/// those with which it runs as without a limit, named where they are more; all have the same.
[[noreturn]] void throw_memory_needed(std::string_view what, std::size_t needed, std::size_t usual,
                                      std::size_t allowed);

}  // namespace taquin::detail
