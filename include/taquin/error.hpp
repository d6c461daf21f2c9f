// Errors. Every exception that taquin throws on purpose is a taquin::error.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "taquin/language.hpp"

namespace taquin {

/// Base of taquin's exceptions. `mpi_class()` is the MPI error class (MPI_ERR_…) that the C API and the
/// preloaded library report for it.
class error : public std::runtime_error {
 public:
  /// A text and its class.
  error(const std::string& what, int mpi_class) : std::runtime_error(what), mpi_class_(mpi_class) {}
  /// MPI_ERR_….
  [[nodiscard]] int mpi_class() const noexcept { return mpi_class_; }
  /// True where all ranks of the communicator have thrown this error, because they agreed on it before the data
  /// moved; docs/guide/8-hangs.md has the table of errors, the ranks that get them, and the state afterwards. Only then
  /// may a program choose another algorithm on all ranks without communication. False: the others' state is unknown.
  [[nodiscard]] bool collective() const noexcept { return collective_; }
  /// For the place that throws on all ranks.
  void set_collective() noexcept { collective_ = true; }

 private:
  int mpi_class_;
  bool collective_ = false;
};

/// A call into the MPI library failed. Thrown on the rank where it failed.
class mpi_error : public error {
 public:
  /// The call and its result.
  mpi_error(const std::string& what, int mpi_class, int code, const char* call)
      : error(what, mpi_class), code_(code), call_(call) {}
  /// The code that the call returned.
  [[nodiscard]] int code() const noexcept { return code_; }
  /// The name of the MPI function, a string literal.
  [[nodiscard]] const char* call() const noexcept { return call_; }

 private:
  int code_;
  const char* call_;
};

/// An argument was wrong. Thrown on every rank of the communicator, before the data moved, where collective() is
/// true (docs/guide/8-hangs.md); otherwise on this rank, for example because a peer sent another number of bytes than
/// was expected.
class usage_error : public error {
 public:
  /// A text, its class, and where the argument was wrong.
  usage_error(const std::string& what, int mpi_class, int rank = -1, int peer = -1)
      : error(what, mpi_class), rank_(rank), peer_(peer) {}
  /// The rank whose argument was wrong, or −1 when it is not one rank's.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// The peer whose block was wrong, or −1.
  [[nodiscard]] int peer() const noexcept { return peer_; }

 private:
  int rank_;
  int peer_;
};

/// The memory allowed is too small. Thrown on every rank, before the data moved, where collective() is true
/// (docs/guide/8-hangs.md).
class budget_exceeded : public error {
 public:
  /// A text and the bytes it is about.
  budget_exceeded(const std::string& what, std::size_t requested, std::size_t used, std::size_t limit);
  /// Bytes requested, on top of `used()`.
  [[nodiscard]] std::size_t requested() const noexcept { return requested_; }
  /// Bytes in use at the request.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  /// Bytes allowed.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

 private:
  std::size_t requested_;
  std::size_t used_;
  std::size_t limit_;
};

/// A call has waited longer than its timeout, and `on_timeout` is `fail`. Thrown on this rank alone. The state of
/// the other ranks is unknown, so taquin cannot use the communicator any more.
class timed_out : public error {
 public:
  using error::error;
};

/// Another rank of the communicator has aborted a call after the agreement, because of an error that the text
/// contains. Thrown on the ranks that wait for it. taquin cannot use the communicator any more.
class peer_aborted : public error {
 public:
  /// A text, its class, the rank, and the text of its error.
  peer_aborted(const std::string& what, int mpi_class, int rank, std::string_view reason)
      : error(what, mpi_class), rank_(rank), reason_(reason) {}
  /// The rank that has aborted.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// Its error; empty where that is not known.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  int rank_;
  std::string reason_;
};

/// `throw on_all_ranks(usage_error(…))`, where all ranks do so.
template <class Error>
Error on_all_ranks(Error e) {
  e.set_collective();
  return e;
}

}  // namespace taquin
