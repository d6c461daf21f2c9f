// Where a call goes on: the next library in the chain, which may be another tool, or the MPI library itself.
//
// Both names of each function stand here, MPI_X and PMPI_X: tools above call the second, and so do the Fortran
// procedures of Open MPI. While a thread is inside taquin both go straight to the MPI library, so that neither tools
// below, which end with PMPI_X, nor taquin's own calls come back.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace taquin::interpose {

/// This thread is inside taquin.
extern thread_local bool inside;
/// Where this thread's call of MPI comes from.
extern thread_local const void* caller;

class guard {
 public:
  guard() noexcept : before_(inside) { inside = true; }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() { inside = before_; }

 private:
  bool before_;
};

/// The next function of this name after this library.
template <class F>
F* next(const char* name) noexcept {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "taquin: no %s in the libraries of this program\n", name);
    std::abort();
  }
  return reinterpret_cast<F*>(found);
}

}  // namespace taquin::interpose

/// The next library's MPI_X, and the MPI library's own.
#define TAQUIN_NEXT(X)                                                              \
  ([] {                                                                             \
    static auto* const f = ::taquin::interpose::next<decltype(MPI_##X)>("MPI_" #X); \
    return f;                                                                       \
  }())
#define TAQUIN_REAL(X)                                                               \
  ([] {                                                                              \
    static auto* const f = ::taquin::interpose::next<decltype(MPI_##X)>("PMPI_" #X); \
    return f;                                                                        \
  }())

/// Defines both names of a function; `intercepted_X` does the work. PARAMETERS and ARGUMENTS with their parentheses.
#define TAQUIN_BOTH_NAMES(X, PARAMETERS, ARGUMENTS)                   \
  extern "C" int MPI_##X PARAMETERS {                                 \
    if (::taquin::interpose::inside) return TAQUIN_REAL(X) ARGUMENTS; \
    ::taquin::interpose::caller = __builtin_return_address(0);        \
    return intercepted_##X ARGUMENTS;                                 \
  }                                                                   \
  extern "C" int PMPI_##X PARAMETERS {                                \
    if (::taquin::interpose::inside) return TAQUIN_REAL(X) ARGUMENTS; \
    ::taquin::interpose::caller = __builtin_return_address(0);        \
    return intercepted_##X ARGUMENTS;                                 \
  }
