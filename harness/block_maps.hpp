// Maps of blocks to redistribute: the five experiments of Siegel & Siegel, and harder ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::harness {

/// Where the blocks of one rank go.
struct block_map_of_rank {
  std::vector<int> ranks;  ///< −1: dead
  std::vector<int> indices;
};

struct block_workload {
  const char* name;
  const char* summary;
  /// The map of one rank: `blocks` places on every rank, `live` of them in use where `any_live`.
  block_map_of_rank (*make)(int rank, int ranks, count_t blocks, count_t live, std::uint64_t seed);
  bool any_live = true;  ///< false: the workload itself has the number of blocks in use
};

/// The workload of that name. Throws usage.
const block_workload& find_block_workload(const std::string& name);
/// The same for a program that needs `free` free blocks of `blocks` on each rank. Throws usage where there are not
/// as many, or the workload does not serve them.
const block_workload& find_block_workload(const std::string& name, count_t blocks, count_t free);
/// One line per workload, for help texts.
std::string block_workload_help();

}  // namespace taquin::harness
