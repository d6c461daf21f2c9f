// Names that the user gives, checked before anything runs.
#pragma once

#include <string>
#include <vector>

#include "taquin/exchange.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

/// Throws usage unless all are algorithms, "auto" or, where allowed, "all"; the message lists the known ones.
void check_algorithms(const std::vector<std::string>& names, bool all_allowed);
/// The text for a name that is not among `known`, a list with commas; with the nearest of them, if one is near.
std::string unknown_algorithm(const std::string& name, const std::string& known);
/// workload::parse, with its error as usage.
workloads::workload parse_workload(const std::string& text);
/// One line per workload, for help texts.
std::string workload_help();
/// "alltoall", "alltoallv", "alltoallw". Throws usage.
exchange::form parse_collective(const std::string& name);

}  // namespace taquin::harness
