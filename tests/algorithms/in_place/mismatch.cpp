// Counts that two ranks do not agree on: the same error on all ranks, and nothing is written.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/in_place/generators.hpp"
#include "harness/in_place_problems.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using detail::in_place_problem;
using detail::peer_block;
using test::rank_in;
using test::size_of;

struct variant {
  const char* name;
  const char* algorithm;
  bool heap = false;
  bool sparse = false;
};

constexpr std::array variants{variant{"in_place", "in_place"}, variant{"dense", "in_place_phases"},
                              variant{"sparse", "in_place_phases", false, true},
                              variant{"heap", "in_place_phases", true, true}};

class mismatch : public testing::TestWithParam<variant> {};

TEST_P(mismatch, is_an_error_on_all_ranks_and_writes_nothing) {
  const int p = size_of(MPI_COMM_WORLD);
  const int me = rank_in(MPI_COMM_WORLD);
  if (p < 2) GTEST_SKIP() << "needs a pair";
  const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
  for (unsigned seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    auto counts = detail::random_counts(test::at(p), 3000, seed);
    const int from = static_cast<int>(seed) % p;
    const int to = (from + 1 + static_cast<int>(seed) / p % (p - 1)) % p;
    for (auto& row : counts)
      for (auto& c : row) ++c;
    // The sender lays out what it has; everybody else what the receiver expects.
    const auto right = detail::make_problem(counts, {seed % 2 == 0, seed % 4, 3}, seed);
    count_t& block = counts[test::at(from)][test::at(to)];
    block = seed % 3 == 0 ? block + 1 + seed * 50 : seed % 3 == 1 ? block / 2 : 0;
    if (block == right.counts[test::at(from)][test::at(to)]) ++block;
    const auto wrong = detail::make_problem(counts, {seed % 2 == 0, seed % 4, 3}, seed);
    const in_place_problem& mine = me == from ? wrong : right;

    std::vector<count_t> scounts(test::at(p)), sdispls(test::at(p)), rcounts(test::at(p)), rdispls(test::at(p));
    for (const peer_block& b : mine.out[test::at(me)])
      scounts[test::at(b.peer)] = b.length, sdispls[test::at(b.peer)] = b.at;
    for (const peer_block& b : mine.in[test::at(me)])
      rcounts[test::at(b.peer)] = b.length, rdispls[test::at(b.peer)] = b.at;
    constexpr std::size_t beyond = 4096;
    auto buffer = detail::in_place_buffers(mine, element::bytes(1)).before[test::at(me)];
    buffer.resize(buffer.size() + beyond, std::byte{0x5a});
    const auto before = buffer;

    options o{.algorithm = GetParam().algorithm,
              .memory = seed % 2 == 0 ? unlimited : std::size_t{40000},
              .in_place_phases = {.aux_heap = GetParam().heap, .sparse_requests = GetParam().sparse}};
    const auto attempt = [&] {
      run(exchange::alltoallv_in_place(buffer.data(), count_view(scounts.data()), count_view(sdispls.data()),
                                       count_view(rcounts.data()), count_view(rdispls.data()), MPI_BYTE, comm.get()),
          o);
    };
    try {
      attempt();
      ADD_FAILURE() << "not noticed";
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_NE(std::string_view(e.what()).find("rank " + std::to_string(from) + " sends"), std::string_view::npos)
          << e.what();
    }
    EXPECT_EQ(buffer, before);
  }
}

INSTANTIATE_TEST_SUITE_P(algorithms, mismatch, testing::ValuesIn(variants),
                         [](const auto& tested) { return tested.param.name + test::np_suffix(); });

}  // namespace
}  // namespace taquin
