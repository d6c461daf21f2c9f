// The operations that this process has started and not finished. Other ranks may wait for any of them, so a wait in
// taquin makes progress with all of them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <exception>

namespace taquin::mpi {

/// Something that is started, and completes when this rank has done its part from time to time. A list of the process
/// holds what is under way, from begin() until it ends or its owner waits for it. Owners are used by one thread at a
/// time; other threads that wait make progress with it in between.
class started {
 public:
  started(const started&) = delete;
  started& operator=(const started&) = delete;

 protected:
  started() noexcept = default;
  virtual ~started() { forget(); }

  /// After it was started. `by_thread`: the process's progress thread looks after it as well.
  void begin(bool by_thread);
  /// Does what can be done without waiting, with the others as well; true at its end. Throws what went wrong.
  bool look();
  /// Waits until its end. Throws what went wrong.
  void finish();
  /// Takes it from the list. To be called before anything that it needs is destroyed.
  void forget() noexcept;

 private:
  friend void progress_started() noexcept;

  /// Does what can be done without waiting; true at its end.
  virtual bool advance() = 0;
  /// Waits until its end.
  virtual void await() = 0;

  void progress() noexcept;
  void use() noexcept;
  void leave() noexcept { busy_.store(false, std::memory_order_release); }
  [[nodiscard]] bool ended();

  std::atomic<bool> busy_{false};  // somebody makes progress with it
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

/// True when an operation is under way whose owner does not wait for it.
inline bool anything_started() noexcept { return progress_detail::listed.load(std::memory_order_relaxed) > 0; }
/// Makes progress with all operations under way, except those with which a thread, this one included, makes progress
/// already.
void progress_started() noexcept;

/// The thread that makes progress where MPI_THREAD_MULTIPLE is provided, made when first asked for and ended by
/// MPI_Finalize. It sleeps while nothing that asked for it is under way. False where there is none.
bool want_progress_thread(int more) noexcept;
/// What that thread does first; null: nothing. To be set before the thread is first asked for.
extern void (*at_begin_of_progress_thread)() noexcept;
/// Whether there can be one.
bool can_progress_by_thread();

}  // namespace taquin::mpi
