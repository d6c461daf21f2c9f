// The channel that a communicator's blocking calls use, as an attribute of it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>

#include "mpi/communicator.hpp"
#include "node/channel.hpp"
#include "node/peer_records.hpp"

namespace taquin::detail {

/// The channel of an intracommunicator; null if its ranks are not all on one node, cannot share memory, or the process
/// has enough of them, and on an intercommunicator. Collective until it was made; freed with the communicator. A
/// duplicate gets its own. Throws if the communicator has failed.
channel* blocking_channel(MPI_Comm comm);

/// Lets `state` share the blocking calls' count, and the ranks' progress records, on the communicator.
void share_calls(MPI_Comm comm, mpi::communicator& state);

/// Where the progress records of ranks of a communicator with a channel can be read; null where they cannot.
const peer_records* records_of(MPI_Comm comm);

/// Called when an error makes this rank abort a call on the communicator. Later calls on it are refused on this rank,
/// and the other ranks are notified.
void abort_call(MPI_Comm comm, const std::exception& why) noexcept;

/// Bytes of shared memory that this process's channels for blocking calls may have together: beyond that new
/// communicators get none, and their ranks exchange messages.
constexpr std::size_t most_channel_bytes = std::size_t{256} << 20U;

}  // namespace taquin::detail
