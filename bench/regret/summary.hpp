// The combined records of the adversary: shares of cells, and the worst with the commands that repeat them.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/regret/cell.hpp"

namespace taquin::regret {

/// The group in which a cell is counted: calls (and plans), in_place, blocks; choice where rivals are named algorithms.
std::string family_of(const cell& c, bool choice);
/// One record as a line: ratio, interval, times, algorithm, command.
std::string line_of(const nlohmann::json& record);
void print_summary(std::FILE* out, const std::vector<nlohmann::json>& records);
/// Prints one summary of files of records; writes all of them to `json` where that is not empty. The exit status.
int summarise_files(const std::vector<std::string>& files, const std::string& json);

}  // namespace taquin::regret
