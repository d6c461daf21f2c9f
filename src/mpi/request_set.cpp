#include "mpi/request_set.hpp"

#include <fmt/format.h>

#include "taquin/error.hpp"

namespace taquin::mpi {

void fail_truncated(const MPI_Status& status, count_t room, const char* call) {
  int sent = MPI_UNDEFINED;
  if (MPI_Get_count(&status, MPI_BYTE, &sent) != MPI_SUCCESS) sent = MPI_UNDEFINED;
  const std::string size = sent != MPI_UNDEFINED && sent > room ? fmt::format("{} bytes", sent) : "more";
  throw mpi_error(fmt::format("{}: rank {} sends {} where {} bytes are expected", call, status.MPI_SOURCE, size, room),
                  MPI_ERR_TRUNCATE, MPI_ERR_TRUNCATE, call);
}

void abandon(MPI_Request& request, request_kind what) noexcept {
  if (request == MPI_REQUEST_NULL || finalized()) return;
  if (what == request_kind::receive || what == request_kind::persistent_receive) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  const bool persistent = what == request_kind::persistent_send || what == request_kind::persistent_receive;
  // Also a request that has failed: some MPI libraries keep it.
  if (!persistent && request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  request = MPI_REQUEST_NULL;
}

void request_set::fail_one(const MPI_Status& status, count_t room, const char* call) {
  if (class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE) fail_truncated(status, room, call);
  fail(status.MPI_ERROR, call);
}

void request_set::abandon() noexcept {
  for (std::size_t i = 0; i < end_; ++i) mpi::abandon(requests_[i], kinds_[i]);
  in_flight_ = end_ = 0;
}

}  // namespace taquin::mpi
