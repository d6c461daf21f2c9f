// From exceptions to MPI's error codes and handlers: the one place where the C API and the preloaded library do it.
#pragma once

#include <mpi.h>

#include <utility>

#include "mpi/communicator.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

/// The MPI error code of the exception that is being handled; its text is kept for last_error(). To be called in a
/// catch block.
int code_of_current_exception() noexcept;

/// Calls the error handler of `comm` (of MPI_COMM_WORLD for a null one) with `code` and returns `code`. While MPI does
/// not run there is none.
int call_errhandler(MPI_Comm comm, int code) noexcept;

/// Prints the text of this thread's last failure, in one line on standard error, where the error handler of `comm` (as
/// above) ends the program: such a handler shows the code alone. Allocates nothing.
void print_if_fatal(MPI_Comm comm) noexcept;

/// Both: print_if_fatal, then call_errhandler.
int raise(MPI_Comm comm, int code) noexcept;

/// `code`, whose text becomes `function: what`. No error handler is called.
int refuse(const char* function, const char* what, int code) noexcept;

/// MPI_SUCCESS between MPI_Init and MPI_Finalize; otherwise the code of an error that names `function`.
int refuse_without_mpi(const char* function) noexcept;

/// The communicator of a handle, whose error handler is called. After the program has freed it, the handler that it had
/// when the handle was made is called, with taquin's private communicator of the same ranks.
class handle_comm {
 public:
  handle_comm() = default;
  explicit handle_comm(MPI_Comm comm) noexcept : comm_(comm) {}
  handle_comm(handle_comm&& other) noexcept
      : comm_(other.comm_),
        state_(std::move(other.state_)),
        handler_(std::exchange(other.handler_, MPI_ERRHANDLER_NULL)) {}
  handle_comm& operator=(handle_comm&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(state_, other.state_);
    std::swap(handler_, other.handler_);
    return *this;
  }
  ~handle_comm();
  /// After the call that makes the handle: taquin has its private communicator then. Local.
  void keep() noexcept;
  int raise(int code) const noexcept;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  mpi::communicator::lease state_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// Runs `f`. An exception becomes the returned code, after `raise(code)` has called an error handler. `function` is the
/// one that the program has called.
template <class Raise, class F>
int guarded_by(Raise raise, F&& f, const char* function) noexcept {
  if (const int code = refuse_without_mpi(function); code != MPI_SUCCESS) return code;
  try {
    f();
    return MPI_SUCCESS;
  } catch (...) {
    return raise(code_of_current_exception());
  }
}

template <class F>
int guarded(MPI_Comm comm, F&& f, const char* function = __builtin_FUNCTION()) noexcept {
  return guarded_by([comm](int code) { return detail::raise(comm, code); }, std::forward<F>(f), function);
}

template <class F>
int guarded(const handle_comm& comm, F&& f, const char* function = __builtin_FUNCTION()) noexcept {
  return guarded_by([&comm](int code) { return comm.raise(code); }, std::forward<F>(f), function);
}

/// Runs `f(*handle)` under the error handler of the handle's `comm`; a null handle is an error of the class, with the
/// text `null_text`, by the handler of MPI_COMM_WORLD.
template <class State, class F>
int guarded_handle(State* handle, const char* null_text, int null_class, F&& f, const char* function) noexcept {
  if (handle == nullptr)
    return guarded(
        MPI_COMM_NULL, [&] { throw usage_error(null_text, null_class); }, function);
  return guarded(
      handle->comm, [&] { f(*handle); }, function);
}

/// The text of this thread's last failure; empty when there was none.
const char* last_error() noexcept;

}  // namespace taquin::detail
