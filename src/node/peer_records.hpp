// The progress records of other ranks of this node. They are read from those ranks' memory, so that they are known also
// of a rank that is in another call, in its own program, or has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/progress_record.hpp"
#include "mpi/slots.hpp"

namespace taquin::detail {

/// Addresses are those of the process that they belong to.
struct peer_record {
  pid_t process = -1;          ///< −1: not on this node
  std::uint64_t last = 0;      ///< its progress record
  std::uint64_t calls = 0;     ///< its record of this communicator
  std::uint32_t identity = 0;  ///< the record's
};

/// Of all ranks of a communicator.
struct peer_records {
  std::vector<peer_record> of;
  /// The attribute of a communicator's state; empty: progress records of its ranks cannot be read.
  inline static const mpi::slot<const peer_records> kept_as;
};

/// The state of a rank as known now.
struct rank_state {
  bool known = false;        ///< its memory can be read, and the record is there
  bool gone = false;         ///< its process has ended
  std::uint64_t calls = 0;   ///< its calls on this communicator
  std::uint64_t last = 0;    ///< its progress record
  bool elsewhere = false;    ///< its last call was on another communicator
  std::uint64_t number = 0;  ///< the last call's number there
  std::string where;         ///< the last call's communicator
};
rank_state poll_at(const peer_record& place);

/// "alltoallv", "plan of an alltoall in place".
std::string name_of_call(std::uint64_t word);

/// "its last call here was 6; it is not in taquin".
std::string describe(const rank_state& s);

}  // namespace taquin::detail
