// The next library in the chain, which may be another tool, or the MPI library itself.
//
// Both names of each function stand here, MPI_X and PMPI_X: tools above call the second, and so do the Fortran
// procedures of Open MPI. While a thread is inside taquin both go straight to the MPI library, so that neither tools
// below, which end with PMPI_X, nor taquin's own calls come back.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "interpose/inside.hpp"

namespace taquin::interpose {

/// The site of this thread's call of MPI.
extern constinit thread_local const void* caller;
/// The program runs another MPI library than this one was built for.
extern bool other_library;

/// A handle as any MPI library may pass it: a number of 32 bits or an address. It keeps all bits of its register, so
/// that a call goes on unchanged under a library whose handles are wider than those of this build.
class handle {
 public:
  template <class T>
  operator T() const noexcept {  // NOLINT(google-explicit-constructor): stands where the MPI type stood
    if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<T>(bits_);  // NOLINT(performance-no-int-to-ptr): a handle of the library
    else
      return static_cast<T>(bits_);
  }

 private:
  std::uintptr_t bits_;
};
static_assert(std::is_trivially_copyable_v<handle> && sizeof(handle) == sizeof(void*));

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

/// Defines both names of a function; `intercepted_X` does the work. PARAMETERS, with handles as `handle`, and ARGUMENTS
/// with their parentheses.
#define TAQUIN_BOTH_NAMES(X, PARAMETERS, ARGUMENTS)             \
  TAQUIN_ONE_NAME(MPI_##X, "MPI_" #X, X, PARAMETERS, ARGUMENTS) \
  TAQUIN_ONE_NAME(PMPI_##X, "PMPI_" #X, X, PARAMETERS, ARGUMENTS)
#define TAQUIN_ONE_NAME(NAME, SYMBOL, X, PARAMETERS, ARGUMENTS) \
  TAQUIN_NAME(NAME, SYMBOL, "MPI_" #X, "PMPI_" #X, intercepted_##X, PARAMETERS, ARGUMENTS)
/// The same for a function whose names are TOP and OWN.
#define TAQUIN_NAME(NAME, SYMBOL, TOP, OWN, WORK, PARAMETERS, ARGUMENTS)                      \
  extern "C" int exported_##NAME PARAMETERS __asm__(SYMBOL);                                  \
  extern "C" int exported_##NAME PARAMETERS {                                                 \
    if (::taquin::interpose::inside) {                                                        \
      static auto* const own = ::taquin::interpose::next<decltype(exported_##NAME)>(OWN);     \
      return own ARGUMENTS;                                                                   \
    }                                                                                         \
    if (::taquin::interpose::other_library) {                                                 \
      static auto* const chained = ::taquin::interpose::next<decltype(exported_##NAME)>(TOP); \
      return chained ARGUMENTS;                                                               \
    }                                                                                         \
    ::taquin::interpose::caller = __builtin_return_address(0);                                \
    return WORK ARGUMENTS;                                                                    \
  }
