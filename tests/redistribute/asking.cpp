// Calls that wait find their targets by a sparse exchange. They bring what calls that are started bring: the same
// blocks, and the same errors.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/communicator.hpp"
#include "node/blocking_channel.hpp"
#include "redistribute/learn_sources.hpp"
#include "redistribute/machine.hpp"
#include "redistribute/problems.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/redistribute.hpp"

namespace taquin {
namespace {

using test::at;
using test::block_problem;
using test::rank_map;

class asking : public testing::Test {
 protected:
  asking() : rank(test::rank_in(MPI_COMM_WORLD)), ranks(test::size_of(MPI_COMM_WORLD)) {
    redistribution(nullptr, 0, 1, MPI_INT, MPI_COMM_WORLD);  // makes what is made once
  }

  // Calls so far on the communicator. One that asks counts three: itself, the sparse exchange, and the moves.
  static std::uint64_t calls() { return mpi::communicator::find(MPI_COMM_WORLD)->calls().calls; }
  // Where ranks share memory, or there are enough of them.
  [[nodiscard]] bool asks() const {
    auto& comm = *mpi::communicator::find(MPI_COMM_WORLD);
    return detail::target_exchange::suits(comm, detail::blocking_channel(MPI_COMM_WORLD), 0, unlimited);
  }

  // Blocks of one word that contains their identity.
  struct array {
    array(int owner, int blocks) : rank(owner), data(at(blocks) + 2, guard) { fill(); }
    void fill() {
      for (std::size_t k = 0; k + 2 < data.size(); ++k) data[k + 1] = test::identity(rank, static_cast<int>(k));
    }
    void expect(const std::vector<std::uint64_t>& want, std::string_view what) {
      for (std::size_t k = 0; k < want.size(); ++k)
        if (want[k] != 0) {
          ASSERT_EQ(data[k + 1], want[k]) << what << ", rank " << rank << " block " << k;
        }
      ASSERT_EQ(data.front(), guard);
      ASSERT_EQ(data.back(), guard);
    }
    [[nodiscard]] redistribution object(const redistribute_options& o, MPI_Comm comm = MPI_COMM_WORLD) {
      return {data.data() + 1, static_cast<count_t>(data.size() - 2), 1, MPI_UINT64_T, comm, o};
    }
    static constexpr std::uint64_t guard = 0xabababab;
    int rank;
    std::vector<std::uint64_t> data;
  };

  [[nodiscard]] const rank_map& mine(const block_problem& all) const { return all[at(rank)]; }

  void moves(const block_problem& all, const redistribute_options& o, bool must_ask = true) {
    array a(rank, mine(all).blocks);
    redistribution r = a.object(o);
    for (int call = 0; call < 3; ++call) {
      a.fill();
      const std::uint64_t before = calls();
      if (call < 2)
        r(mine(all).ranks, mine(all).indices);
      else
        r.start(mine(all).ranks, mine(all).indices), r.wait();
      if (must_ask) {
        ASSERT_EQ(calls() - before, call < 2 && asks() ? 3U : 1U);
      }
      a.expect(test::expected(all, rank), o.algorithm);
      if (HasFatalFailure()) return;
    }
  }

  // The result of all ranks for a map, by either algorithm; then the right map moves.
  void refuses_alike(const rank_map& bad, const block_problem& good, const redistribute_options& o) {
    array a(rank, mine(good).blocks);
    redistribution r = a.object(o);
    const auto before = a.data;
    struct report {
      std::string what;
      int mpi_class = 0;
      int rank = -1;
      int peer = -1;
      bool operator==(const report&) const = default;
    };
    const auto reported_by = [&](bool waits) -> std::optional<report> {
      try {
        if (waits)
          r(bad.ranks, bad.indices);
        else
          r.start(bad.ranks, bad.indices), r.wait();
      } catch (const usage_error& e) {
        EXPECT_TRUE(e.collective());
        return report{e.what(), e.mpi_class(), e.rank(), e.peer()};
      }
      return std::nullopt;
    };
    const auto waited = reported_by(true);
    EXPECT_EQ(a.data, before);
    const auto started = reported_by(false);
    EXPECT_EQ(a.data, before);
    ASSERT_TRUE(waited && started);
    EXPECT_EQ(waited->what, started->what);
    EXPECT_TRUE(*waited == *started);
    r(mine(good).ranks, mine(good).indices);
    a.expect(test::expected(good, rank), "after an error");
  }

  int rank, ranks;
};

// Each rank sends to `peers` others, which follow it.
block_problem to_few(int ranks, int blocks, int peers) {
  block_problem all(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    all[at(r)].blocks = blocks;
    for (int k = 0; k < blocks; ++k) {
      all[at(r)].ranks.push_back(k % 7 == 6 ? -1 : (r + 1 + k % peers) % ranks);
      all[at(r)].indices.push_back(k);
    }
  }
  return all;
}

TEST_F(asking, moves_blocks_to_few_ranks_and_to_many) {
  const int few = ranks > 8 ? 40 : 150;
  for (const auto* a : detail::redistributions()) {
    if (ranks > 8 && a->hands_over) continue;  // phases take their time there
    const redistribute_options o{.algorithm = a->name};
    for (const int peers : {1, 2, 4}) moves(to_few(ranks, few, peers), o);
    moves(test::random_problem(std::vector<int>(at(ranks), few), 90, 5), o);
    moves(test::shift_problem(ranks, few, 0), o);  // nothing is live
    if (HasFatalFailure()) return;
  }
  moves(to_few(ranks, 3000, 3), {.algorithm = "slots"});  // more indices than travel with a notice
  moves(test::random_problem(std::vector<int>(at(ranks), 2000), 100, 6), {.algorithm = "slots", .check = false});
}

TEST_F(asking, moves_blocks_of_ranks_with_few_and_with_none) {
  std::vector<int> sizes(at(ranks), 90);
  sizes.front() = 0;
  sizes.back() = 7;
  for (const auto* a : detail::redistributions())
    if (ranks <= 8 || !a->hands_over)
      moves(test::random_problem(sizes, 80, 8), {.algorithm = a->name, .in_flight = 2}, false);
}

TEST_F(asking, keeps_to_the_memory_down_to_the_least) {
  const auto all = test::random_problem(std::vector<int>(at(ranks), 120), 95, 4);
  array a(rank, 120);
  for (const auto* algorithm : detail::redistributions()) {
    redistribute_options o{.algorithm = algorithm->name, .memory = 1000};
    try {
      redistribution none = a.object(o);
      FAIL() << "it is enough";
    } catch (const budget_exceeded& e) {
      o.memory = e.requested();
    }
    for (const std::size_t more : {0, 1000, 100000}) {
      redistribute_options allowed = o;
      statistics s;
      allowed.memory += more;
      allowed.stats = &s;
      redistribution r = a.object(allowed);
      a.fill();
      r(mine(all).ranks, mine(all).indices);
      a.expect(test::expected(all, rank), algorithm->name);
      EXPECT_LE(r.peak_memory(), allowed.memory) << algorithm->name;
      EXPECT_EQ(s.peak_memory, r.peak_memory());
      EXPECT_EQ(s.algorithm, algorithm->name);
      EXPECT_EQ(s.starts, 1U);
    }
  }
}

TEST_F(asking, reports_an_invalid_map_of_one_rank_as_a_start_does) {
  const auto good = to_few(ranks, 60, 2);
  for (int bad_rank = 0; bad_rank < ranks; bad_rank += std::max(ranks / 3, 1)) {
    rank_map bad = mine(good);
    if (rank == bad_rank) bad.ranks[5] = ranks;
    refuses_alike(bad, good, {.algorithm = "slots"});
    if (rank == bad_rank) bad.ranks[5] = 0, bad.indices[5] = 60;
    refuses_alike(bad, good, {.algorithm = "slots", .check = false});
    if (rank == bad_rank) bad.ranks.resize(61, 0), bad.indices.resize(61, 0);
    refuses_alike(bad, good, {.algorithm = "parking"});
  }
}

TEST_F(asking, reports_two_blocks_for_one_place_as_a_start_does) {
  const auto good = to_few(ranks, 60, 2);
  rank_map bad = mine(good);
  if (rank == ranks - 1) bad.indices[3] = 1, bad.ranks[3] = bad.ranks[1];
  refuses_alike(bad, good, {.algorithm = "slots"});
}

// More blocks than a rank has places: it cannot receive their indices, and no rank waits for that.
TEST_F(asking, reports_more_blocks_than_places_as_a_start_does) {
  if (ranks == 1) GTEST_SKIP() << "a rank has no more blocks than places";
  for (const int blocks : {5, 60, ranks > 8 ? 500 : 5000}) {
    const auto good = to_few(ranks, blocks, 2);
    rank_map bad = mine(good);
    std::ranges::fill(bad.ranks, 0);
    for (const bool check : {true, false}) refuses_alike(bad, good, {.algorithm = "slots", .check = check});
  }
  // A rank with few places, which are fewer than one other has blocks for it.
  std::vector<int> sizes(at(ranks), 700);
  sizes.back() = 3;
  const auto good = test::random_problem(sizes, 90, 2);
  rank_map bad = mine(good);
  std::ranges::fill(bad.ranks, ranks - 1);
  std::ranges::fill(bad.indices, 1);
  refuses_alike(bad, good, {.algorithm = "slots"});
}

TEST_F(asking, is_left_out_where_the_communicator_is_gone) {
  const auto all = to_few(ranks, 50, 2);
  test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
  array a(rank, 50);
  redistribution r = a.object({.algorithm = "slots"}, comm.get());
  r(mine(all).ranks, mine(all).indices);
  a.expect(test::expected(all, rank), "before");
  comm.free();
  a.fill();
  r(mine(all).ranks, mine(all).indices);
  a.expect(test::expected(all, rank), "afterwards");
}

TEST_F(asking, goes_beside_others_that_are_under_way) {
  const auto all = to_few(ranks, 50, 3);
  array a(rank, 50);
  array b(rank, 50);
  redistribution first = a.object({.algorithm = "slots"});
  redistribution second = b.object({.algorithm = "slots"});
  for (int i = 0; i < 5; ++i) {
    a.fill();
    b.fill();
    first.start(mine(all).ranks, mine(all).indices);
    second(mine(all).ranks, mine(all).indices);
    first.wait();
    a.expect(test::expected(all, rank), "started");
    b.expect(test::expected(all, rank), "beside it");
  }
}

}  // namespace
}  // namespace taquin
