// Functions for interfaces on top of the library.
#pragma once

#include <span>

#include "taquin/redistribute.hpp"

namespace taquin::detail {

struct redistribution_access {
  /// The constructor. If the interface has found this rank's arguments invalid, all ranks throw its `invalid_text`.
  /// Null: they are valid.
  static redistribution make(void* data, count_t blocks, count_t block_length, MPI_Datatype type, MPI_Comm comm,
                             const redistribute_options& o, const char* invalid_text) {
    return {data, blocks, block_length, type, comm, o, invalid_text};
  }
  /// redistribution::sort of the array's first blocks, one for each destination. The others are dead. Nothing is
  /// checked.
  static void sort(redistribution& r, std::span<int> dest_ranks, std::span<int> dest_indices);
  /// redistribution's call operator and start; `invalid_text` as above.
  static void run(redistribution& r, count_t length, const count_view& dest_ranks, const count_view& dest_indices,
                  const char* invalid_text);
  static void start(redistribution& r, count_t length, const count_view& dest_ranks, const count_view& dest_indices,
                    const char* invalid_text);
  /// redistribution::repair; `invalid_text` as above.
  static failure::block_map repair(redistribution& r, MPI_Comm survivors, const char* invalid_text);
  /// redistribution::roll_back; `invalid_text` as above.
  static failure::block_map roll_back(redistribution& r, MPI_Comm survivors, count_t length,
                                      const count_view& dest_ranks, const count_view& dest_indices,
                                      const char* invalid_text);
};

}  // namespace taquin::detail
