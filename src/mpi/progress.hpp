// What this process has started and not finished. Other ranks may wait for any of it, so whoever waits in taquin makes
// progress with all.
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
  /// Takes it from the list; to be called before anything that it needs goes.
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

/// True when something is under way that its owner does not wait for.
inline bool anything_started() noexcept { return progress_detail::listed.load(std::memory_order_relaxed) > 0; }
/// Makes progress with all that is under way, but for what another thread, or this one, makes progress with already.
void progress_started() noexcept;

/// The thread that makes progress where MPI_THREAD_MULTIPLE is provided, made when first asked for and ended by
/// MPI_Finalize. It sleeps while nothing that asked for it is under way. False where there is none.
bool want_progress_thread(int more) noexcept;
/// What that thread does first; null: nothing. To be set before anybody asks for it.
extern void (*at_begin_of_progress_thread)() noexcept;
/// Whether there can be one.
bool can_progress_by_thread();

}  // namespace taquin::mpi
