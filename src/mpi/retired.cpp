// The end of private communicators. MPI libraries give the context of a freed communicator to the next one. A message
// that is still on its way would reach that one: Open MPI 4.1 crashes if the sender is no rank of it.
#include "mpi/retired.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "mpi/communicator.hpp"

namespace taquin::mpi {

namespace {

std::atomic<int> retired_now{0};
std::atomic<bool> ends{false};  // MPI_Finalize was entered

}  // namespace

// Those that wait for other ranks, in the order in which they are tested.
class communicator::queue {
 public:
  void append(communicator& c) noexcept {
    const std::scoped_lock lock(mutex_);
    c.next_ = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = &c;
    last_ = &c;
  }
  communicator* take() noexcept {
    const std::scoped_lock lock(mutex_);
    communicator* const c = first_;
    if (c == nullptr) return nullptr;
    first_ = c->next_;
    if (first_ == nullptr) last_ = nullptr;
    return c;
  }
  static queue& all() noexcept {
    static constinit queue one;
    return one;
  }

 private:
  std::mutex mutex_;
  communicator* first_ = nullptr;
  communicator* last_ = nullptr;
};

int communicator::free() noexcept {
  const int code = PMPI_Comm_free(&comm_);
  delete this;
  return code;
}

// A rank that has completed all its calls cannot see that another one aborts its last call later, and notifies all.
// Ranks that abort never enter this barrier.
int communicator::retire() noexcept {
  free_retired();
  if (size_ == 1 || ends) return free();  // at the end no communicator is made that could get the context
  int complete = 0;
  if (PMPI_Ibarrier(comm_, &retires_) != MPI_SUCCESS ||
      PMPI_Test(&retires_, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    keep_for_ever();
    return MPI_SUCCESS;
  }
  if (complete != 0) return free();
  queue::all().append(*this);
  ++retired_now;
  return MPI_SUCCESS;
}

void communicator::free_retired() noexcept {
  constexpr int at_once = 8;  // those that other ranks never free are tested again and again
  for (int left = std::min(retired_now.load(std::memory_order_relaxed), at_once); left > 0; --left) {
    communicator* const c = queue::all().take();
    if (c == nullptr) return;
    int complete = 0;
    if (PMPI_Test(&c->retires_, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0) {
      queue::all().append(*c);
      continue;
    }
    --retired_now;
    if (complete != 0)
      c->free();
    else
      c->keep_for_ever();
  }
}

// A barrier or a receive that is pending when MPI ends would be an error of the program's. All ranks have freed their
// communicators by then; a rank that has aborted a call never enters its barrier, and is not waited for long.
void free_retired_at_end() {
  static const bool once = [] {
    int key = MPI_KEYVAL_INVALID;
    const auto at_end = [](MPI_Comm, int, void*, void*) -> int {
      ends = true;
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      while (retired_now > 0 && std::chrono::steady_clock::now() < until) {
        communicator::free_retired();
        sched_yield();
      }
      communicator::complete_all_failure_receives();
      return MPI_SUCCESS;
    };
    // MPI_Finalize first deletes the attributes of MPI_COMM_SELF.
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, nullptr) != MPI_SUCCESS) return false;
    const bool set = PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
    PMPI_Comm_free_keyval(&key);
    return set;
  }();
  static_cast<void>(once);
}

int communicator::retired() noexcept { return retired_now.load(std::memory_order_relaxed); }

// Messages of an aborted call may still arrive. So this communicator is never freed, nor, unless it is revoked, are
// those that were made from it, with the memory of nodes.
void communicator::keep_for_ever() noexcept {
  static std::atomic<communicator*> all{nullptr};
  next_ = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(next_, this)) {
  }
}

}  // namespace taquin::mpi
