// An operation that an algorithm prepares, to be started, tested and waited for.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

#include "call/agree.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class operation {
 public:
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;

  virtual void start() = 0;
  virtual bool test() = 0;
  virtual void wait() = 0;
  virtual void run() {
    start();
    wait();
  }
  /// The started operation is aborted by the exception that is being thrown: keeps the map of whole data, if any.
  virtual void failed() noexcept {}
  /// Adds the work of the last exchange (rounds, messages, bytes sent and copied).
  virtual void account(statistics& s) const = 0;
};

/// Returns a body to the memory that it was taken from.
struct operation_deleter {
  std::pmr::memory_resource* memory = nullptr;
  std::size_t size = 0;
  std::size_t alignment = 0;
  void operator()(operation* made) const noexcept {
    void* place = dynamic_cast<void*>(made);
    std::destroy_at(made);
    memory->deallocate(place, size, alignment);
  }
};
using operation_ptr = std::unique_ptr<operation, operation_deleter>;

/// Makes a body in the budget's memory.
template <class Body, class... Args>
std::unique_ptr<Body, operation_deleter> make_operation(std::pmr::memory_resource& memory, Args&&... args) {
  void* place = memory.allocate(sizeof(Body), alignof(Body));
  try {
    return {new (place) Body(std::forward<Args>(args)...), operation_deleter{&memory, sizeof(Body), alignof(Body)}};
  } catch (...) {
    memory.deallocate(place, sizeof(Body), alignof(Body));
    throw;
  }
}

}  // namespace taquin::detail
