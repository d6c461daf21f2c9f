// One call as a program may make it: its properties, their text form, random cells and simpler ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::regret {

/// Its text is the argument of --cell: "use=call form=alltoallv workload=random bytes=4096 …". Fields that are left out
/// keep the values below, which are the simplest ones.
struct cell {
  std::string use = "call";       ///< call, plan, overlap (a plan with work between start and wait), in_place, blocks
  std::string form = "alltoall";  ///< alltoall, alltoallv, alltoallw
  std::string workload = "uniform";  ///< of `taquin run`; of `taquin redistribute` for blocks
  count_t bytes = 1024;              ///< that a rank sends
  count_t memory = 0;                ///< limit in bytes; 0: none
  std::string pace = "row";          ///< row: back to back; barrier: each after a barrier
  int skew = 0;                      ///< microseconds: ranks arrive late by up to so many
  std::string types = "bytes";       ///< bytes; strided: a derived type, every other 8 bytes
  std::string buffers = "ordinary";  ///< ordinary; shared: taquin's; mpi: from MPI_Alloc_mem
  std::string sizes = "fixed";       ///< fixed; change: four sizes in turn
  int life = 0;                      ///< calls on a communicator before the next one is made; 0: one for all
  std::uint64_t seed = 1;            ///< of what the workload draws

  bool operator==(const cell&) const = default;
};

std::string to_text(const cell& c);
/// Throws std::invalid_argument.
cell parse_cell(const std::string& text);

/// A random cell for that many ranks: sizes log-uniform from 1 byte to 8 MiB.
cell random_cell(std::mt19937_64& random, int ranks);
/// The same cell with one thing simpler, for each thing that is not the simplest; and with half the bytes.
std::vector<cell> simpler(const cell& c);

}  // namespace taquin::regret
