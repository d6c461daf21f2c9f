// A schedule as text, for people.
#pragma once

#include <string>

#include "schedule/schedule.hpp"

namespace taquin::detail {

/// One line per round, message and copy. With the exchange that it is of, messages also tell whose blocks they take, as
/// "{send 3-5 9}": the places of the blocks of ranks 3, 4, 5 and 9 in the send buffer. Without MPI.
std::string to_text(const schedule& s, const local_exchange* x = nullptr);

}  // namespace taquin::detail
