// A schedule as readable text.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace taquin::detail {

/// "send", "receive", "scratch" or "shared".
const char* name_of(place where) noexcept;

/// The blocks that a message carries, each the sending and the receiving rank of the exchange.
using payload = std::vector<std::pair<int, int>>;

/// One line per round, message and copy. With the schedule's exchange, messages also show the blocks whose places they
/// use, as "{send 3-5 9}": the blocks of ranks 3, 4, 5 and 9 in the send buffer. With the payload of each message, in
/// their order, a further line shows forwarded blocks, as "3>7": the block that rank 3 sends to rank 7. Without MPI.
std::string to_text(const schedule& s, const local_exchange* x = nullptr, std::span<const payload> payloads = {});

}  // namespace taquin::detail
