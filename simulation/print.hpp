// A schedule as text, for people.
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

/// One line per round, message and copy. With the exchange that it is of, messages also tell whose places they take, as
/// "{send 3-5 9}": the places of the blocks of ranks 3, 4, 5 and 9 in the send buffer. With the payload of each
/// message, in their order, a further line tells what passes through other ranks, as "3>7": what rank 3 sends to rank
/// 7. Without MPI.
std::string to_text(const schedule& s, const local_exchange* x = nullptr, std::span<const payload> payloads = {});

}  // namespace taquin::detail
