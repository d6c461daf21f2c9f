#include "c/invalid_text.hpp"

#include <utility>

#include "base/invalid_argument.hpp"
#include "taquin/taquin.h"

namespace {
thread_local const char* pending = nullptr;
}

const char* taquin::detail::take_invalid_text() noexcept { return std::exchange(pending, nullptr); }

namespace taquin::detail {

namespace {

bool is_common(MPI_Datatype type) noexcept {
  return type == MPI_DOUBLE || type == MPI_INT || type == MPI_BYTE || type == MPI_FLOAT || type == MPI_CHAR ||
         type == MPI_LONG || type == MPI_DATATYPE_NULL;
}

// A communicator of this process alone, which returns errors.
MPI_Comm alone() noexcept {
  static const MPI_Comm one = [] {
    MPI_Comm made = MPI_COMM_NULL;
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made) != MPI_SUCCESS) return MPI_COMM_NULL;
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  return one;
}

const char* invalid_text_of_side(const blocks& side, int peers) noexcept {
  if (side.types == nullptr) return taquin::detail::invalid_text_of(side.element.type);
  const char* text = nullptr;
  for (int k = 0; k < peers && text == nullptr; ++k)
    if (side.counts.missing() || side.counts[k] > 0) text = taquin::detail::invalid_text_of(side.types[k]);
  return text;
}

}  // namespace

// MPI has no query for it, but refuses to send an element of such a type, to MPI_PROC_NULL as well.
const char* invalid_text_of(MPI_Datatype type) noexcept {
  if (is_common(type) || alone() == MPI_COMM_NULL) return nullptr;
  static const char unread = 0;
  const int code = PMPI_Send(&unread, 1, type, MPI_PROC_NULL, 0, alone());
  int mpi_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &mpi_class);
  return mpi_class == MPI_ERR_TYPE ? uncommitted_text : nullptr;
}

exchange with_invalid_text(exchange x) noexcept {
  int peers = 0;
  if (x.comm == MPI_COMM_NULL) return x;
  if (x.send.types != nullptr || x.recv.types != nullptr) {
    int inter = 0;
    PMPI_Comm_test_inter(x.comm, &inter);
    if (inter != 0)
      PMPI_Comm_remote_size(x.comm, &peers);
    else
      PMPI_Comm_size(x.comm, &peers);
  }
  const char* text = take_invalid_text();
  if (text == nullptr) text = invalid_text_of_side(x.recv, peers);
  if (text == nullptr && !x.in_place) text = invalid_text_of_side(x.send, peers);
  if (text != nullptr) invalid_exchange::set(x, text);
  return x;
}

}  // namespace taquin::detail

void TAQUIN_Set_invalid_argument(const char* what) { pending = what; }
