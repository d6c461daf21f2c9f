// The report at the end. No MPI in here.
#pragma once

#include <vector>

#include "interpose/log.hpp"

namespace taquin::interpose {

/// Prints the summary on standard error and, where it is asked for, writes the whole report as JSON
/// (docs/internals/report.md). To be called on one rank, with the logs of all; `native_by_model` is what the MPI library
/// would have taken for all calls.
void write_report(const std::vector<rank_log>& logs, double native_by_model);

}  // namespace taquin::interpose
