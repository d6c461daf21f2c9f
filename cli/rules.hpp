// Rules for a program's calls, made of measured times.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "select/selection.hpp"

namespace taquin::cli {

/// A kind of call, and how long it took by each algorithm.
struct measured_call {
  exchange::form kind = exchange::form::alltoallv;
  bool in_place = false;
  bool reused = false;  ///< by a plan
  int ranks = 1;
  int nodes = 1;
  double bytes = 0;         ///< of the rank that sends or receives most
  std::uint64_t calls = 1;  ///< that the program made
  std::map<std::string, double> seconds{};
};

/// For each size that occurs the algorithm that takes least over all its calls; a rule reaches half way to the sizes
/// that another algorithm does, by factors, and to half of the smallest and twice the largest size.
std::vector<detail::rule> rules_of(const std::vector<measured_call>& calls);

}  // namespace taquin::cli
