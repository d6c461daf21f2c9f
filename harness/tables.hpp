// Records as other tools read them. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace taquin::harness {

/// One row for each record, that is for each tuple of variables; a name, "asked", stands for the algorithm. A field
/// that a record lacks is empty. RFC 4180.
std::string csv_of(const std::vector<nlohmann::json>& records);

/// As the OSU micro-benchmarks print a personalised exchange with -f -z -c: comments, then "size average ..." in
/// microseconds and "Pass", a block for each algorithm. The size is that of `per_pair_bytes`. Average, minimum and
/// maximum are of the ranks' mean times; percentiles are of the slowest rank's times.
std::string osu_of(const std::vector<nlohmann::json>& records);

}  // namespace taquin::harness
