// Move-only owners of MPI handles.
#pragma once

#include <mpi.h>

#include <exception>
#include <utility>

#include "mpi/check.hpp"

namespace taquin::mpi {

/// `Kind` has the handle's type, its null handle and its freeing function, which gets a flag: an error ends the owner.
template <class Kind>
class owned {
 public:
  using handle = typename Kind::handle;

  owned() noexcept = default;
  /// Adopts a handle that may be freed: no predefined one.
  explicit owned(handle h) noexcept : handle_(h) {}
  owned(owned&& other) noexcept : handle_(other.release()) {}
  // The count of exceptions is that of this object's scope, whatever it owns.
  // cppcheck-suppress operatorEqVarError
  owned& operator=(owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owned() {
    // An exception that was already being handled when this object was made does not count.
    if (handle_ != Kind::null() && !finalized()) Kind::free(&handle_, std::uncaught_exceptions() > exceptions_);
  }

  [[nodiscard]] handle get() const noexcept { return handle_; }
  [[nodiscard]] handle release() noexcept { return std::exchange(handle_, Kind::null()); }
  explicit operator bool() const noexcept { return handle_ != Kind::null(); }

 private:
  handle handle_ = Kind::null();
  int exceptions_ = std::uncaught_exceptions();
};

struct datatype_kind {
  using handle = MPI_Datatype;
  static handle null() noexcept { return MPI_DATATYPE_NULL; }
  static void free(handle* h, bool) noexcept { PMPI_Type_free(h); }
};
/// A communicator whose owner ends by an error is not freed. Peers may still send messages on it, and MPI libraries
/// reuse a freed context for the next communicator, which would receive them.
struct comm_kind {
  using handle = MPI_Comm;
  static handle null() noexcept { return MPI_COMM_NULL; }
  static void free(handle* h, bool by_error) noexcept {
    if (!by_error) PMPI_Comm_free(h);
  }
};

/// An inactive one.
struct inactive_request_kind {
  using handle = MPI_Request;
  static handle null() noexcept { return MPI_REQUEST_NULL; }
  static void free(handle* h, bool) noexcept { PMPI_Request_free(h); }
};

using datatype = owned<datatype_kind>;
using inactive_request = owned<inactive_request_kind>;
using owned_comm = owned<comm_kind>;

}  // namespace taquin::mpi
