#include "exchange/meet.hpp"

#include <optional>

#include "exchange/agree.hpp"
#include "node/blocking_channel.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

void check_communicator(MPI_Comm user) {
  if (user == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
}

meeting meet(MPI_Comm user, std::uint64_t facts, patience p) {
  meeting m{.state = mpi::communicator::known(user)};
  m.first = m.state == nullptr;
  if (m.first && mpi::is_inter(user)) return m;
  std::optional<meeting_watch> clock;
  if (m.first && p.seconds > 0) [[unlikely]]
    clock.emplace(user, facts, p);
  m.node = blocking_channel(user);
  if (m.first) {
    // Ranks that have a channel know each other: some may be on the short way through it.
    if (m.node != nullptr) meet_on_node(*m.node);
    m.state = &mpi::communicator::of(user);
  }
  share_calls(user, *m.state);
  return m;
}

}  // namespace taquin::detail
