// Counts that two ranks do not agree on, and nobody has compared them before: an error on the ranks concerned, and no
// byte outside the receive blocks written on any.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
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

// Every rank tells the others that it has failed, which those that wait for it must know in order to give up.
constexpr int failure_tag = 7;

void tell_failure() {
  for (int r = 0; r < size_of(MPI_COMM_WORLD); ++r)
    if (r != rank_in(MPI_COMM_WORLD)) MPI_Send(nullptr, 0, MPI_BYTE, r, failure_tag, MPI_COMM_WORLD);
}

bool told_failure() {
  int any = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, failure_tag, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
  return any != 0;
}

void forget_failures() {
  MPI_Barrier(MPI_COMM_WORLD);
  while (told_failure()) MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, failure_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Runs the exchange until it ends, fails, or waits for a rank that has failed.
std::optional<std::string> failure_of(std::vector<std::byte>& buffer, const std::vector<count_t>& scounts,
                                      const std::vector<count_t>& sdispls, const std::vector<count_t>& rcounts,
                                      const std::vector<count_t>& rdispls, const options& o, MPI_Comm comm) {
  plan p(exchange::alltoallv_in_place(buffer.data(), count_view(scounts.data()), count_view(sdispls.data()),
                                      count_view(rcounts.data()), count_view(rdispls.data()), MPI_BYTE, comm),
         o);
  try {
    p.start();
    // Ranks that have not failed may still be needed to pass requests on, and may not be running.
    constexpr int patience = 200;
    for (int polls_since = 0; !p.test() && polls_since < patience;) {
      if (!told_failure()) continue;
      ++polls_since;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const usage_error& e) {
    tell_failure();
    EXPECT_EQ(e.mpi_class(), MPI_ERR_TRUNCATE);
    return e.what();
  }
  return std::nullopt;
}

class mismatch : public testing::TestWithParam<variant> {};

TEST_P(mismatch, is_an_error_on_both_ranks_and_writes_nowhere_else) {
  const int p = size_of(MPI_COMM_WORLD);
  const int me = rank_in(MPI_COMM_WORLD);
  if (p < 2) GTEST_SKIP() << "needs a pair";
  // Each exchange on a communicator of its own that is never freed: messages that nobody has received are left on it,
  // and an MPI library may give its number to the next one.
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
    block = seed % 3 == 0 ? block + 1 + seed * 50 : std::max<count_t>(1, block / 2);
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
    const auto failure = failure_of(buffer, scounts, sdispls, rcounts, rdispls, o, test::duplicate(MPI_COMM_WORLD));
    if (me == from || me == to) {
      EXPECT_TRUE(failure) << "not noticed";
    }
    for (const peer_block& b : mine.in[test::at(me)])
      std::copy_n(before.begin() + b.at, b.length, buffer.begin() + b.at);
    EXPECT_EQ(buffer, before);
    forget_failures();
  }
}

INSTANTIATE_TEST_SUITE_P(algorithms, mismatch, testing::ValuesIn(variants),
                         [](const auto& tested) { return tested.param.name + test::np_suffix(); });

}  // namespace
}  // namespace taquin
