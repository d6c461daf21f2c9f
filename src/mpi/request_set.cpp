#include "mpi/request_set.hpp"

#include <fmt/format.h>

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "mpi/big_count.hpp"
#include "mpi/failure.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {

namespace {

count_t sent_bytes(const MPI_Status& status) {
  const count_t sent = bytes_of(status);
  return sent != MPI_UNDEFINED ? sent : 0;
}

}  // namespace

void fail_truncated(const MPI_Status& status, count_t capacity, const char* call) {
  const count_t sent = sent_bytes(status);
  const std::string size = sent > capacity ? fmt::format("{} bytes", sent) : "more";
  throw mpi_error(
      fmt::format("{}: rank {} sends {} where {} bytes are expected", call, status.MPI_SOURCE, size, capacity),
      MPI_ERR_TRUNCATE, MPI_ERR_TRUNCATE, call);
}

void refuse_truncation(const truncation& t, int rank) {
  const std::string sent = t.sent > t.capacity ? fmt::format("{}", t.sent) : "more";
  throw usage_error(
      fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes", t.sender, sent, rank, t.capacity),
      MPI_ERR_TRUNCATE, rank, t.sender);
}

// Open MPI that survives failures ends the program if a send fails after its request was freed, as one to a rank that
// has died: there requests are kept until they are complete.
void hand_to_library(MPI_Request& request) noexcept {
  const MPI_Request mine = std::exchange(request, MPI_REQUEST_NULL);
  MPI_Request freed = mine;
  if (mine == MPI_REQUEST_NULL) return;
  if (!survives_failures()) {
    PMPI_Request_free(&freed);
    return;
  }
  static std::mutex guard;
  static std::vector<MPI_Request> open;
  const std::scoped_lock lock(guard);
  std::erase_if(open, [](MPI_Request& r) {
    int over = 0;
    PMPI_Test(&r, &over, MPI_STATUS_IGNORE);
    if (over != 0 && r != MPI_REQUEST_NULL) PMPI_Request_free(&r);  // one that has failed may be kept
    return over != 0;
  });
  try {
    open.push_back(mine);
  } catch (const std::bad_alloc&) {
    // it stays with the library
  }
}

bool abandon(MPI_Request& request, request_kind what) noexcept {
  if (request == MPI_REQUEST_NULL || finalized()) return false;
  bool pending = false;
  if (what == request_kind::receive || what == request_kind::persistent_receive) {
    PMPI_Cancel(&request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    int done = 0;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    pending = done == 0;
  }
  const bool persistent = what == request_kind::persistent_send || what == request_kind::persistent_receive;
  // Also a request that has failed: some MPI libraries keep it.
  if (!persistent) hand_to_library(request);
  request = MPI_REQUEST_NULL;
  return pending;
}

// A failed request is complete, although some MPI libraries keep it.
void request_set::failed(std::size_t i, const MPI_Status& status, count_t capacity, const char* call) {
  if (class_of(status.MPI_ERROR) != MPI_ERR_TRUNCATE) fail(status.MPI_ERROR, call);
  if (!keeps_truncations_) fail_truncated(status, capacity, call);
  if (!kept_) kept_ = truncation{status.MPI_SOURCE, sent_bytes(status), capacity};
  const bool persistent = kinds_[i] == kind::persistent_send || kinds_[i] == kind::persistent_receive;
  if (!persistent && requests_[i] != MPI_REQUEST_NULL) PMPI_Request_free(&requests_[i]);
  requests_[i] = MPI_REQUEST_NULL;
}

void request_set::abandon() noexcept {
  bool pending = false;
  for (std::size_t i = 0; i < end_; ++i) pending = mpi::abandon(requests_[i], kinds_[i]) || pending;
  if (pending) detail::outlive(requests_.get_allocator().resource());
  if (pending && also_read_ != nullptr) also_read_->outlive();
  in_flight_ = end_ = 0;
}

}  // namespace taquin::mpi
