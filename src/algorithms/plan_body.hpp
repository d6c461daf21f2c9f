// What an algorithm prepares: something that can be started, tested and waited for.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

#include "exchange/agree.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class plan_body {
 public:
  plan_body() = default;
  plan_body(const plan_body&) = delete;
  plan_body& operator=(const plan_body&) = delete;
  virtual ~plan_body() = default;

  virtual void start() = 0;
  virtual bool test() = 0;
  virtual void wait() = 0;
  virtual void run() {
    start();
    wait();
  }
  /// Adds what the last exchange did (rounds, messages, bytes sent and copied).
  virtual void account(statistics& s) const = 0;
};

/// A body whose small blocks travel with the agreement: all that is left for run() is what did not. The user's receive
/// buffer must not be written before run(), because the agreement may fail.
class riding_body : public plan_body, public carrier {};

/// Gives a body back to the memory it came from.
struct body_deleter {
  std::pmr::memory_resource* memory = nullptr;
  std::size_t size = 0;
  std::size_t alignment = 0;
  void operator()(plan_body* body) const noexcept {
    void* place = dynamic_cast<void*>(body);
    std::destroy_at(body);
    memory->deallocate(place, size, alignment);
  }
};
using body_ptr = std::unique_ptr<plan_body, body_deleter>;
using riding_ptr = std::unique_ptr<riding_body, body_deleter>;

/// Makes a body in the budget's memory.
template <class Body, class... Args>
std::unique_ptr<Body, body_deleter> make_body(std::pmr::memory_resource& memory, Args&&... args) {
  void* place = memory.allocate(sizeof(Body), alignof(Body));
  try {
    return {new (place) Body(std::forward<Args>(args)...), body_deleter{&memory, sizeof(Body), alignof(Body)}};
  } catch (...) {
    memory.deallocate(place, sizeof(Body), alignof(Body));
    throw;
  }
}

}  // namespace taquin::detail
