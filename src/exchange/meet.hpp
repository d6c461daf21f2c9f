// How the ranks of a communicator come to know each other in their first call on it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <new>

#include "mpi/communicator.hpp"
#include "node/call_watch.hpp"
#include "node/channel.hpp"

namespace taquin::detail {

/// Throws usage_error for MPI_COMM_NULL. Local: there is nobody to tell.
void check_communicator(MPI_Comm user);

/// What taquin has for a communicator.
struct meeting {
  mpi::communicator* state = nullptr;  ///< null on an intercommunicator
  channel* node = nullptr;             ///< null where the ranks do not share memory
  bool first = false;                  ///< it was made now
};

/// Collective when asked for the first time; the waits then have the call's timeout. On an intercommunicator nothing is
/// made. `facts`: as in mpi::whereabouts. Throws where the communicator is lost to this rank.
meeting meet(MPI_Comm user, std::uint64_t facts, patience p);

/// A State of its own, whose constructor meets the other ranks. The last argument of that is whether there is no memory for
/// the state itself: its ranks then meet all the same, and all of them throw.
template <class State, class... Arguments>
std::unique_ptr<State> make_together(const Arguments&... arguments) {
  std::unique_ptr<State> made(new (std::nothrow) State(arguments..., false));
  if (made == nullptr) State(arguments..., true);
  return made;
}

}  // namespace taquin::detail
