// Memory that the MPI library may still read when its owner has no more use for it: a cancelled send that was not
// complete reads its message until the library is done with it, which the library does not report.
#pragma once

#include <memory_resource>
#include <mutex>
#include <vector>

namespace taquin::detail {

/// An owner of such memory, whatever kind it is: of the heap (memory_budget), of a node (arena_block), or a
/// communicator's.
class outliving {
 public:
  /// From now on the memory stays as it is until the process ends, also when the owner is destroyed.
  virtual void outlive() noexcept = 0;

 protected:
  ~outliving() = default;
};

/// Of a resource that is one.
inline void outlive(std::pmr::memory_resource* memory) noexcept {
  if (auto* const owner = dynamic_cast<outliving*>(memory); owner != nullptr) owner->outlive();
}

/// Keeps memory that is never freed where leak checkers find it.
inline void keep_for_ever(void* memory) noexcept {
  static std::mutex one_at_a_time;
  try {
    static auto* const all = new std::vector<void*>;
    const std::scoped_lock lock(one_at_a_time);
    all->push_back(memory);
  } catch (...) {  // kept all the same
  }
}

}  // namespace taquin::detail
