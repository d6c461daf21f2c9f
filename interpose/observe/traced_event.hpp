// The record in a trace of one event with a duration.
#pragma once

#include <cstdint>

namespace taquin::interpose {

struct traced_event {
  enum class kind : std::uint8_t { call, in_flight, round, send, receive };

  std::uint64_t begin = 0;   ///< ticks; nanoseconds of rank 0's clock once they are gathered
  std::uint64_t end = 0;     ///< 0: it has not ended
  std::uint64_t number = 0;  ///< of the call on its communicator, in which it happened
  std::uint64_t size = 0;    ///< a call's scratch memory, a message's bytes, a round's number
  std::uint32_t what = 0;    ///< a call: index into rank_log::traced; others: into rank_log::comms
  std::int32_t peer = -1;    ///< world rank
  std::int32_t lane = 0;     ///< of a message: those of one are in order
  kind which = kind::call;
};

}  // namespace taquin::interpose
