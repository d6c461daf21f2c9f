#include "mpi/progress.hpp"

#include <sched.h>

#include <mutex>
#include <utility>

namespace taquin::mpi {

namespace progress_detail {
std::atomic<int> listed{0};
}

namespace {

started* first = nullptr;
std::atomic<bool> in_use{false};  // the list
thread_local bool passing = false;

// Most holders hold it for a few instructions; a thread that progresses all operations holds it for that
// long.
class list_lock {
 public:
  list_lock() noexcept {
    while (in_use.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  explicit list_lock(std::try_to_lock_t) noexcept : held_(!in_use.exchange(true, std::memory_order_acquire)) {}
  list_lock(const list_lock&) = delete;
  list_lock& operator=(const list_lock&) = delete;
  ~list_lock() {
    if (held_) in_use.store(false, std::memory_order_release);
  }
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  bool held_ = true;
};

}  // namespace

void started::begin(bool by_thread) {
  if (anything_started()) progress_started();
  ended_ = false;
  failure_ = nullptr;
  {
    const list_lock lock;
    before_ = nullptr;
    next_ = first;
    if (next_ != nullptr) next_->before_ = this;
    first = this;
    listed_ = true;
    progress_detail::listed.fetch_add(1, std::memory_order_relaxed);
  }
  by_thread_ = by_thread && want_progress_thread(1);
}

void started::forget() noexcept {
  if (!listed_) return;
  {
    const list_lock lock;
    (before_ != nullptr ? before_->next_ : first) = next_;
    if (next_ != nullptr) next_->before_ = before_;
    listed_ = false;
    progress_detail::listed.fetch_sub(1, std::memory_order_relaxed);
  }
  if (by_thread_) want_progress_thread(-1);
}

void started::use() noexcept {
  while (busy_.exchange(true, std::memory_order_acquire)) sched_yield();
}

// Of an operation that another thread has progressed meanwhile.
bool started::ended() {
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return ended_;
}

void started::progress() noexcept {
  if (busy_.exchange(true, std::memory_order_acquire)) return;
  try {
    if (!ended_) ended_ = advance();
  } catch (...) {
    failure_ = std::current_exception();
    ended_ = true;
  }
  leave();
}

bool started::poll() {
  use();
  try {
    if (!ended_) ended_ = advance();
    if (!ended_ && anything_started()) progress_started();  // not with this one: it is busy
  } catch (...) {
    failure_ = std::current_exception();
    ended_ = true;
  }
  const bool over = ended_;
  leave();
  if (!over) return false;
  forget();
  return ended();
}

void started::finish() {
  forget();
  if (!ended()) await();
}

void progress_started() noexcept {
  if (passing) return;
  const list_lock lock(std::try_to_lock);
  if (!lock.held()) return;  // another thread progresses it
  passing = true;
  for (started* s = first; s != nullptr; s = s->next_) s->progress();
  passing = false;
}

}  // namespace taquin::mpi
