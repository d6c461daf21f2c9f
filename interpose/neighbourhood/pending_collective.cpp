#include "interpose/neighbourhood/pending_collective.hpp"

#include <sched.h>

#include <chrono>
#include <memory>
#include <optional>

#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "node/call_deadline.hpp"

namespace taquin::interpose {

void pending_collective::wait(MPI_Comm comm, std::uint64_t number, std::string_view algorithm) {
  struct others final : mpi::awaited {
    void describe(mpi::wait_record& to) const override { to.what = "agreement with ranks that are behind"; }
  };
  const others what;
  std::shared_ptr<mpi::call_record> record;
  std::optional<detail::call_deadline> clock;
  if (const detail::call_timeout p = detail::call_timeout::of({}); p.seconds > 0) {
    record = mpi::make_call_record(comm);
    clock.emplace(detail::known_comm{comm, record.get(), nullptr}, mpi::progress_record::of(mpi::call_kind::alltoallv),
                  number, algorithm, p);
  }
  must_stay_ = true;
  for (mpi::backoff waiting(&what);; waiting.pause()) {
    int done = 0;
    TAQUIN_MPI(PMPI_Test(&pending_, &done, MPI_STATUS_IGNORE));
    if (done != 0) break;
  }
  must_stay_ = false;
}

bool pending_collective::test() {
  int done = 0;
  TAQUIN_MPI(PMPI_Test(&pending_, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

void pending_collective::give_up() noexcept {
  using clock = std::chrono::steady_clock;
  constexpr auto longest = std::chrono::seconds(5);
  int over = 0;
  if (pending_ == MPI_REQUEST_NULL || PMPI_Finalized(&over) != MPI_SUCCESS || over != 0) return;
  int done = 0;
  for (const auto end = clock::now() + longest; done == 0; sched_yield())
    if (PMPI_Test(&pending_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || clock::now() >= end) break;
  must_stay_ = done == 0;
}

}  // namespace taquin::interpose
