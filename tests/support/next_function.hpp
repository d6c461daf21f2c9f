// The MPI library's function behind one of the same name in a test program.
#pragma once

#include <dlfcn.h>

namespace taquin::test {

/// Of this type, as in next_function<decltype(PMPI_Isend)>("PMPI_Isend").
template <class Function>
Function* next_function(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace taquin::test
