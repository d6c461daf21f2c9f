#include "mpi/observer.hpp"

#include <dlfcn.h>

namespace taquin::detail {

thread_local const void* called_from::site_ = nullptr;
thread_local bool unobserved::here_ = false;

const taquin_observer* observer() noexcept {
  static const taquin_observer* const found = []() -> const taquin_observer* {
    using getter = const taquin_observer* (*)();
    void* const exported = dlsym(RTLD_DEFAULT, "taquin_observer_2");
    return exported == nullptr ? nullptr : reinterpret_cast<getter>(exported)();
  }();
  return found;
}

}  // namespace taquin::detail
