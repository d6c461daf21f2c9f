// The channel that a communicator's blocking calls use, as an attribute of it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>

#include "mpi/communicator.hpp"
#include "node/channel.hpp"
#include "node/first_call.hpp"
#include "node/places.hpp"

namespace taquin::detail {

/// The channel of an intracommunicator; null where its ranks are not all on one node, cannot share memory, or the
/// process has enough of them, and where `first` goes to the MPI library. Collective until it was made; freed with the
/// communicator. A duplicate gets its own. Without `first` it is made now; with it, it may be provisional.
channel* blocking_channel(MPI_Comm comm, first_call* first = nullptr);

/// Of a provisional channel, which blocking_channel may give where there is a `first`: whether all other ranks use it
/// for this communicator, too. If not it is forgotten, as after forget_spare. Waits for the other ranks.
bool meet_again(MPI_Comm comm);
/// One of the ranks has not come: the next call is the first one on the communicator, and none of the channels that
/// this process has for the same ranks will serve it. Local.
void forget_spare(MPI_Comm comm);

/// True if the last result of blocking_channel in this thread was null, for this communicator. Local.
bool known_to_have_none(MPI_Comm comm) noexcept;

/// Lets `state` share the count of calls, and the places of the ranks, with the blocking calls on the communicator.
void share_calls(MPI_Comm comm, mpi::communicator& state);

/// Where the ranks of a communicator that has a channel can be asked for; null where they cannot.
const rank_places* places_of(MPI_Comm comm);

/// Called when an error takes this rank out of the middle of a call on the communicator. Later calls on it are refused
/// on this rank, and the other ranks are told.
void leave(MPI_Comm comm, const std::exception& why) noexcept;

/// Bytes of shared memory that this process's channels for blocking calls may have together: beyond that new
/// communicators get none, and their ranks exchange messages.
constexpr std::size_t most_channel_bytes = std::size_t{256} << 20U;

}  // namespace taquin::detail
