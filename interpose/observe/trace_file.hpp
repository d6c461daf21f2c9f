// All ranks' events as one trace. No MPI in here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpose/observe/log.hpp"

namespace taquin::interpose {

/// Writes the trace of all ranks' logs, at most `most` bytes; reports it, or why it failed, on standard error.
void write_trace(const std::vector<rank_log>& logs, std::uint64_t most, const std::string& file);

}  // namespace taquin::interpose
