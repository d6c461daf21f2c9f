// Events for a preloaded library that records a program's calls (interpose/): those that MPI does not see.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

/// The interface that such a library exports, under a name with the version: the program's taquin may be another one.
extern "C" struct taquin_observer {
  /// A call is made, at `site`, and moves its data immediately or each time that it is started. Collective over the
  /// communicator. Null: it is left out.
  void* (*make)(MPI_Comm comm, bool at_once, const void* site);
  /// Additional bytes that it sends to a rank, and that it receives from one.
  void (*sends)(void* call, int rank, std::int64_t bytes);
  void (*receives)(void* call, int rank, std::int64_t bytes);
  void (*start)(void* call, const void* site);
  /// The data have moved. The name lives as long as the program.
  void (*end)(void* call, const char* algorithm, std::size_t peak_memory, std::int64_t element_bytes);
  void (*drop)(void* call);
  /// While `on`, this thread's MPI calls are taquin's own: neither recorded nor served. Returns the previous value.
  bool (*inside)(bool on);
};

namespace taquin::detail {

/// Null where nothing is recorded. Looked up once, after MPI_Init.
const taquin_observer* observer() noexcept;

/// While it lives, this thread's calls are recorded as made at that site: for interfaces on top of the library.
class called_from {
 public:
  explicit called_from(const void* site) noexcept : before_(std::exchange(site_, site)) {}
  called_from(const called_from&) = delete;
  called_from& operator=(const called_from&) = delete;
  ~called_from() { site_ = before_; }
  /// The site at which the innermost interface was called; `own` if there is none.
  static const void* site_or(const void* own) noexcept { return site_ != nullptr ? site_ : own; }

 private:
  static thread_local const void* site_;
  const void* before_;
};

/// While it lives, this thread's calls are not recorded: they are parts of another one.
class unobserved {
 public:
  unobserved() noexcept : before_(std::exchange(here_, true)) {}
  unobserved(const unobserved&) = delete;
  unobserved& operator=(const unobserved&) = delete;
  ~unobserved() { here_ = before_; }
  static bool here() noexcept { return here_; }

 private:
  static thread_local bool here_;
  bool before_;
};

/// While it lives, this thread calls MPI's functions for itself.
class inside_taquin {
 public:
  inside_taquin() noexcept : by_(observer()), before_(by_ != nullptr && by_->inside(true)) {}
  inside_taquin(const inside_taquin&) = delete;
  inside_taquin& operator=(const inside_taquin&) = delete;
  ~inside_taquin() {
    if (by_ != nullptr) by_->inside(before_);
  }

 private:
  const taquin_observer* by_;
  bool before_;
};

/// A call that is recorded, if anything records. Exceptions of the recorder are left out.
class observed_call {
 public:
  observed_call(MPI_Comm comm, bool at_once, const void* site)
      : by_(unobserved::here() ? nullptr : observer()),
        call_(by_ == nullptr ? nullptr : by_->make(comm, at_once, called_from::site_or(site))) {}
  observed_call(observed_call&& other) noexcept : by_(other.by_), call_(std::exchange(other.call_, nullptr)) {}
  observed_call& operator=(observed_call&&) = delete;
  ~observed_call() {
    if (call_ != nullptr) by_->drop(call_);
  }
  explicit operator bool() const noexcept { return call_ != nullptr; }
  void sends(int rank, std::int64_t bytes) const { by_->sends(call_, rank, bytes); }
  void receives(int rank, std::int64_t bytes) const { by_->receives(call_, rank, bytes); }
  void start(const void* site) const { by_->start(call_, called_from::site_or(site)); }
  void end(std::string_view algorithm, std::size_t peak_memory, std::int64_t element_bytes) const {
    by_->end(call_, algorithm.data(), peak_memory, element_bytes);
  }

 private:
  const taquin_observer* by_;
  void* call_;
};

}  // namespace taquin::detail
