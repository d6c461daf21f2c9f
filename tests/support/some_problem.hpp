// Problems on the ranks of one node.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

#include "support/problem.hpp"
#include "support/types.hpp"
#include "support/world.hpp"

namespace taquin::test {

/// Whether the ranks of the world exchange data through memory that they share.
inline bool shares_memory() {
#ifdef TAQUIN_SMPI
  return false;
#else
  const char* setting = std::getenv("TAQUIN_SHARED_MEMORY");
  return size_of(MPI_COMM_WORLD) > 1 && (setting == nullptr || std::string_view(setting) != "0");
#endif
}

/// Blocks of up to `most` elements; which sizes they have follows from the seed.
inline problem some_problem(exchange::form kind, int p, count_t most, unsigned seed, std::vector<type_pair>& types) {
  problem x{.kind = kind, .p = p, .counts = {}, .seed = seed, .types = &types};
  std::mt19937 random(seed);
  x.counts = all_workloads[kind == exchange::form::alltoall ? 0 : seed % all_workloads.size()].make(p, most, random);
  return x;
}

/// The types of these numbers in the list of all.
inline std::vector<type_pair> types_of(std::initializer_list<std::size_t> numbers) {
  std::vector<type_pair> types;
  for (const std::size_t t : numbers) types.push_back(all_types[t].make());
  return types;
}

}  // namespace taquin::test
