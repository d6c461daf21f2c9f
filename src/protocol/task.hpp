// Protocols are coroutines: they decide, a port communicates. If an await is not ready immediately the task suspends,
// and the port resumes it after the awaited event.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory_resource>
#include <new>
#include <utility>

namespace taquin::detail {

/// A coroutine whose first argument has a member `memory`, the resource that its frame is taken from. Awaiting a task
/// runs it to its end; an exception leaves it through the awaiting one.
class task {
 public:
  struct promise_type {
    std::coroutine_handle<> caller = std::noop_coroutine();
    std::exception_ptr failure;

    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct back {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
          return h.promise().caller;
        }
        void await_resume() noexcept {}
      };
      return back{};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }

    template <class Context, class... Args>
    static void* operator new(std::size_t size, Context& c, Args&...) {
      auto* place = static_cast<std::byte*>(c.memory->allocate(size + header, header));
      std::memcpy(place, &c.memory, sizeof(void*));
      return place + header;
    }
    static void operator delete(void* frame, std::size_t size) {
      std::byte* place = static_cast<std::byte*>(frame) - header;
      std::pmr::memory_resource* memory = nullptr;
      std::memcpy(&memory, place, sizeof(void*));
      memory->deallocate(place, size + header, header);
    }

   private:
    static constexpr std::size_t header = alignof(std::max_align_t);
  };

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const noexcept { return handle_.done(); }
  /// Runs until the first await that is not ready.
  void start() { handle_.resume(); }
  /// Throws the coroutine's exception.
  void check() const {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  }

  auto operator co_await() & noexcept { return awaiter{handle_}; }
  auto operator co_await() && noexcept { return awaiter{handle_}; }

 private:
  struct awaiter {
    std::coroutine_handle<promise_type> callee;
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
      callee.promise().caller = caller;
      return callee;
    }
    void await_resume() {
      if (callee.promise().failure) std::rethrow_exception(callee.promise().failure);
    }
  };
  explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// Memory for the frame of a task that runs again and again: taken once, then used again.
class frame_memory final : public std::pmr::memory_resource {
 public:
  explicit frame_memory(std::pmr::memory_resource* memory) : memory_(memory) {}
  frame_memory(const frame_memory&) = delete;
  frame_memory& operator=(const frame_memory&) = delete;
  ~frame_memory() override {
    if (frame_ != nullptr) memory_->deallocate(frame_, size_, alignof(std::max_align_t));
  }

  /// The most that a task's frame takes. A compiler that does not optimise keeps every temporary object in it.
#ifdef __OPTIMIZE__
  static constexpr std::size_t most = 512;
#else
  static constexpr std::size_t most = 1024;
#endif

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (frame_ == nullptr) {
      frame_ = memory_->allocate(bytes, alignment);
      size_ = bytes;
    }
    return bytes == size_ ? frame_ : throw std::bad_alloc();
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* memory_;
  void* frame_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace taquin::detail
