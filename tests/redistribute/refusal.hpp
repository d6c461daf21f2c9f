// Blocks of each rank that all go to the next one, and what the documentation promises of memory.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/error.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::test {

class refusal : public testing::Test {
 protected:
  static constexpr int blocks = 10;

  refusal() : data(blocks), ranks_to(blocks), indices(blocks) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::iota(data.begin(), data.end(), rank * 1000);
    for (int k = 0; k < blocks; ++k) {
      ranks_to[static_cast<std::size_t>(k)] = (rank + 1) % ranks;
      indices[static_cast<std::size_t>(k)] = k;
    }
  }

  void refused(const std::vector<std::string>& parts) {
    const auto before = data;
    redistribution redistribute(data.data(), blocks, 1, MPI_INT, MPI_COMM_WORLD);
    try {
      redistribute(ranks_to, indices);
      FAIL() << "accepted on rank " << rank;
    } catch (const usage_error& e) {
      for (const auto& part : parts)
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what() << " lacks " << part;
    }
    EXPECT_EQ(data, before);
  }

  int rank = 0;
  int ranks = 1;
  std::vector<int> data;
  std::vector<int> ranks_to;
  std::vector<int> indices;
};

// Bytes on a rank of p with m blocks of l bytes, as the documentation states them, beside `buffers`.
inline std::size_t promised(std::size_t p, std::size_t m, std::size_t buffers) {
  return 21504 + 300 * p + 16 * m + buffers;
}

}  // namespace taquin::test
