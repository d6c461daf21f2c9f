// The report at the end. No MPI in here.
#pragma once

#include <vector>

#include "interpose/observe/log.hpp"

namespace taquin::interpose {

/// Prints the summary on standard error and, where it is requested, writes the whole report as JSON
/// (docs/internals/file-formats.md). To be called on one rank, with the logs of all.
void write_report(const std::vector<rank_log>& logs);

}  // namespace taquin::interpose
