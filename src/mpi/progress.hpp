// The operations that this process has started and not finished. Other ranks may wait for any of them, so a wait in
// taquin progresses all of them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <exception>

namespace taquin::mpi {

/// An operation that is started, and completes when this rank has done its part from time to time. A list of the
/// process holds pending operations, from begin() until they end or their owners wait for them. Owners are used by one
/// thread at a time; other threads that wait progress them in between.
class started {
 public:
  started(const started&) = delete;
  started& operator=(const started&) = delete;

 protected:
  started() noexcept = default;
  virtual ~started() { forget(); }

  /// After it was started. `by_thread`: the process's progress thread progresses it as well.
  void begin(bool by_thread);
  /// Progresses it and the others without waiting; true at its end. Throws its error.
  bool poll();
  /// Waits until its end. Throws its error.
  void finish();
  /// Takes it from the list. Must be called before anything that it uses is destroyed.
  void forget() noexcept;

 private:
  friend void progress_started() noexcept;

  /// Progresses it without waiting; true at its end.
  virtual bool advance() = 0;
  /// Waits until its end.
  virtual void await() = 0;

  void progress() noexcept;
  void use() noexcept;
  void leave() noexcept { busy_.store(false, std::memory_order_release); }
  [[nodiscard]] bool ended();

  std::atomic<bool> busy_{false};  // a thread progresses it
  bool listed_ = false;
  bool by_thread_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
  started* next_ = nullptr;
  started* before_ = nullptr;
};

namespace progress_detail {
extern std::atomic<int> listed;
}

/// True when there is a pending operation whose owner does not wait for it.
inline bool anything_started() noexcept { return progress_detail::listed.load(std::memory_order_relaxed) > 0; }
/// Progresses all pending operations, except those that a thread, this one included, progresses
/// already.
void progress_started() noexcept;

/// The progress thread, where MPI_THREAD_MULTIPLE is provided; made by the first request for it and ended by
/// MPI_Finalize. It sleeps while no pending operation has requested it. False if there is none.
bool want_progress_thread(int more) noexcept;
/// A function that the thread calls first; null: none. Must be set before the first request for the thread.
extern void (*at_begin_of_progress_thread)() noexcept;
/// Whether a progress thread is possible.
bool can_progress_by_thread();

}  // namespace taquin::mpi
