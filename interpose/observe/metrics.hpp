// Measurements of ranks as OpenMetrics text. No MPI in here.
#pragma once

#include <string>
#include <vector>

#include "interpose/observe/log.hpp"

namespace taquin::interpose {

/// Writes the file and reports it, or the reason of a failure, on standard error.
void write_metrics(const std::vector<rank_log>& logs, const std::string& file);

}  // namespace taquin::interpose
