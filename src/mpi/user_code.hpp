// Functions of the program that an operation calls before it is complete: allocators, functions that take data,
// operators.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/deadline.hpp"
#include "mpi/progress_record.hpp"

namespace taquin::mpi {

/// Scope guard: such a function runs. Calls on the operation's communicator are refused meanwhile, because they would
/// use the same memory, mailboxes and tags in the middle of it (check_may_call). Calls on other communicators are
/// allowed: the timeout of the operation does not count while they wait, and afterwards the progress record shows the
/// operation again. One thread at a time is in the operations of a communicator, so the count needs no other guard.
class user_code {
 public:
  explicit user_code(call_record& r) noexcept : record_(r), last_(here.last.load(std::memory_order_relaxed)) {
    record_.user_code.fetch_add(1, std::memory_order_relaxed);
  }
  user_code(const user_code&) = delete;
  user_code& operator=(const user_code&) = delete;
  ~user_code() {
    record_.user_code.fetch_sub(1, std::memory_order_relaxed);
    here.last.store(last_, std::memory_order_relaxed);
  }

 private:
  call_record& record_;
  std::uint64_t last_;
  deadline::paused clock_;
};

}  // namespace taquin::mpi
