// However much there is to copy, a test of a redistribution copies a chunk of it.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "redistribute/machine.hpp"
#include "redistribute/problems.hpp"
#include "taquin/redistribute.hpp"

namespace taquin {
namespace {

constexpr std::size_t words = 8192;  // of a block: 64 KiB
constexpr int blocks = 384;          // of a rank: 24 MiB
constexpr std::size_t page = 512;    // words: blocks may go in parts
constexpr std::size_t most = 1024;   // pages that a test may change: 4 MiB, four times what it copies by itself

// Redistributes, and returns the most pages of this rank's array that changed in one test.
std::size_t most_changed(const test::rank_map& map, int rank, std::string_view algorithm) {
  std::vector<std::uint64_t> data(static_cast<std::size_t>(map.blocks) * words);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = test::identity(rank, static_cast<int>(i / words));
  redistribution r(data.data(), map.blocks, words, MPI_UINT64_T, MPI_COMM_WORLD, {.algorithm = algorithm});
  r.start(map.ranks, map.indices);
  std::size_t changed = 0;
  std::vector<std::uint64_t> before;
  for (bool done = false; !done;) {
    before = data;
    done = r.test();
    std::size_t now = 0;
    for (std::size_t i = 0; i < data.size(); i += page)
      now += std::memcmp(&data[i], &before[i], page * sizeof(std::uint64_t)) != 0 ? 1U : 0U;
    changed = std::max(changed, now);
  }
  return changed;
}

class bounded_test : public testing::Test {
 protected:
  bounded_test() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  int rank = 0;
  int ranks = 1;
};

// Every block but the first moves down by one place as soon as the first has left.
TEST_F(bounded_test, copies_a_piece_of_a_chain_of_local_moves) {
  test::rank_map map{blocks, {}, {}};
  for (int k = 0; k < blocks; ++k) {
    map.ranks.push_back(k == 0 ? (rank + 1) % ranks : rank);
    map.indices.push_back(k == 0 ? blocks - 1 : k - 1);
  }
  for (const auto* a : detail::redistributions()) EXPECT_LE(most_changed(map, rank, a->name), most) << a->name;
}

// If ranks read each other's memory, all blocks for free places could be read in one test. The bound is one on copies
// that the rank makes: messages are received by the MPI library, as many in a test as peers answer meanwhile.
TEST_F(bounded_test, copies_a_piece_of_what_it_reads) {
  if (!detail::environment::get().single_copy) GTEST_SKIP() << "blocks come by messages";
  test::rank_map map{blocks, {}, {}};
  for (int k = 0; k < blocks; ++k) {
    map.ranks.push_back(rank % 2 == 0 && rank + 1 < ranks ? rank + 1 : -1);
    map.indices.push_back(blocks - 1 - k);
  }
  EXPECT_LE(most_changed(map, rank, "slots"), most);
}

}  // namespace
}  // namespace taquin
