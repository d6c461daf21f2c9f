// A schedule as text, for people.
#pragma once

#include <string>

#include "schedule/schedule.hpp"

namespace taquin::detail {

/// One line per round, message and copy. Without MPI.
std::string to_text(const schedule& s);

}  // namespace taquin::detail
