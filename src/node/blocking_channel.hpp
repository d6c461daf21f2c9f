// The channel that a communicator's blocking calls use, as an attribute of it.
#pragma once

#include <mpi.h>

#include <exception>

#include "mpi/communicator.hpp"
#include "node/channel.hpp"
#include "node/places.hpp"

namespace taquin::detail {

/// The channel of an intracommunicator; null where its ranks are not all on one node, cannot share memory, or the
/// process has enough of them. Collective when asked for the first time; freed with the communicator. A duplicate gets
/// its own.
channel* blocking_channel(MPI_Comm comm);

/// Makes `state` count what the blocking calls of the communicator count, and know where they know its ranks to be.
void share_calls(MPI_Comm comm, mpi::communicator& state);

/// Where the ranks of a communicator that has a channel can be asked for; null where they cannot.
const rank_places* places_of(MPI_Comm comm);

/// An error takes this rank out of the middle of a call on the communicator: it is lost to this rank, where every later
/// call is refused, and the others are told.
void leave(MPI_Comm comm, const std::exception& why) noexcept;

/// Bytes of shared memory that this process's channels for blocking calls may have together: beyond that new
/// communicators get none, and their ranks exchange messages.
constexpr std::size_t most_channel_bytes = std::size_t{256} << 20U;

}  // namespace taquin::detail
