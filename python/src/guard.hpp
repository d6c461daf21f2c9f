// Collective functions of Python that fail before their ranks agree: the other ranks get the error.
#pragma once

#include <mpi.h>
#include <pybind11/pybind11.h>

#include <functional>

namespace taquin::python {

/// The operation for which the other ranks of a collective call wait while this rank runs Python code. One for each
/// call of this thread, the innermost first. If Python code fails in between, for lack of memory for example, the rank
/// enters that operation with the text of its error, so that all ranks get it.
class call_guard {
 public:
  using entry = std::function<void(const char* invalid_text)>;

  explicit call_guard(entry awaited) : outer_(innermost_), awaited_(std::move(awaited)) { innermost_ = this; }
  call_guard(const call_guard&) = delete;
  call_guard& operator=(const call_guard&) = delete;
  ~call_guard() { innermost_ = outer_; }

  /// The operation that they wait for from now on; empty: none, or this rank is in it. Outside of a guarded function
  /// without effect.
  static void await(entry awaited) {
    if (innermost_ != nullptr) innermost_->awaited_ = std::move(awaited);
  }
  /// With a Python error set: enters that operation. The error of all ranks is set then, caused by this one.
  void enter_with_error() noexcept;

 private:
  static thread_local call_guard* innermost_;
  call_guard* outer_;
  entry awaited_;
};

/// Adds `guarded(kind, position)(function)`: a callable like `function`, with a call_guard. `position` is that of the
/// communicator among the arguments, below 0 from the end; it may be given as `comm=`. Neither this nor the call of
/// `function` allocates by Python, so that no error can happen outside the guard.
void register_guard(pybind11::module_& m);

}  // namespace taquin::python
