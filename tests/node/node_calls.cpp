// Blocking calls whose ranks are on one node, with nothing chosen by the caller: results, errors, memory,
// communicators.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "support/some_problem.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

// Sizes that fit into a line, pass through the room, are fetched, and are more than the room holds.
constexpr std::array<count_t, 4> sizes{4, 700, 9000, 150000};

// A delay that differs between ranks and calls, so that each is late in its turn.
void delay(std::mt19937& random) {
  if (random() % 3 == 0) usleep(static_cast<useconds_t>(random() % 300));
}

TEST(node_calls, put_every_byte_in_its_place) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  unsigned seed = 0;
  for (const std::size_t type : {0U, 1U, 3U, 5U, 7U}) {
    std::vector<type_pair> types;
    types.push_back(all_types[type].make());
    for (const auto kind : {form::alltoall, form::alltoallv, form::alltoallw})
      for (const count_t most : sizes) {
        if (brief() && most > 10000) continue;
        const problem x = some_problem(kind, p, std::max<count_t>(most / (p > 4 ? 4 : 1), 1), ++seed, types);
        SCOPED_TRACE(fmt::format("form {}, type {}, most {}", static_cast<int>(kind), type, most));
        rank_buffers mine(x, rank);
        for (int call = 0; call < 2; ++call) {
          mine.fill(call);
          statistics s;
          delay(random);
          run(mine.given_to(MPI_COMM_WORLD), {.stats = &s});
          EXPECT_EQ(mine.wrong_bytes(), 0U);
          EXPECT_TRUE(!shares_memory() || s.algorithm == "shared_memory") << s.algorithm;
        }
      }
  }
}

TEST(node_calls, exchange_in_place_what_fits_and_what_does_not) {
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({0, 3, 7});
  unsigned seed = 0;
  for (const bool symmetric : {true, false})
    for (const count_t most : {count_t{5}, count_t{300}, count_t{60000}}) {
      if (brief() && most > 1000) continue;
      problem x = some_problem(form::alltoallv, p, most, ++seed, types);
      x.in_place = true;
      x.symmetric = symmetric;
      if (symmetric) make_symmetric(x.counts);
      rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
      mine.fill(1);
      run(mine.given_to(MPI_COMM_WORLD));
      EXPECT_EQ(mine.wrong_bytes(), 0U) << most;
    }
}

// Blocks in a step among nodes need no memory beyond their own. With less, ranks request the data that they can place.
TEST(node_calls, exchange_in_place_within_limits_of_memory) {
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({0});
  unsigned seed = 0;
  for (const count_t most : {count_t{5}, count_t{900}}) {
    std::string_view without_limit;
    for (const std::size_t memory : {unlimited, std::size_t{1} << 20U, std::size_t{60000}, std::size_t{20000}}) {
      if (brief() && most > 5) continue;
      problem x = some_problem(form::alltoallv, p, most, ++seed, types);
      x.in_place = true;
      x.symmetric = false;
      rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
      statistics s;
      for (int call = 0; call < 3; ++call) {
        mine.fill(1);
        run(mine.given_to(MPI_COMM_WORLD), {.memory = memory, .stats = &s});
        EXPECT_EQ(mine.wrong_bytes(), 0U) << most;
      }
      EXPECT_LE(s.peak_memory, memory);
      if (memory == unlimited) without_limit = s.algorithm;
      if (memory >= 60000 && most == 5) {
        EXPECT_EQ(s.algorithm, without_limit) << memory;
      }
    }
  }
}

TEST(node_calls, keep_to_the_smallest_memory_of_any_rank_or_fail_on_all) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({0, 3, 7});
  for (const auto kind : {form::alltoallv, form::alltoallw})
    for (const count_t most : {count_t{6}, count_t{2000}, count_t{30000}})
      for (const std::size_t memory : {0U, 100U, 3000U, 200000U}) {
        if (brief() && most > 2000) continue;
        const problem x = some_problem(kind, p, most, 5, types);
        rank_buffers mine(x, rank);
        mine.fill(2);
        statistics s;
        bool done = true;
        try {  // only one rank has a limit
          run(mine.given_to(MPI_COMM_WORLD), {.memory = rank == p - 1 ? memory : unlimited, .stats = &s});
        } catch (const budget_exceeded&) {
          done = false;
        }
        EXPECT_EQ(any_rank(done), done) << "all ranks alike";
        EXPECT_TRUE(done ? mine.wrong_bytes() == 0 : mine.untouched());
        EXPECT_TRUE(!done || rank < p - 1 || s.peak_memory <= memory) << s.peak_memory << " of " << memory;
      }
}

// An error on one rank is an error on all, with nothing delivered, and the next call is as any other.
TEST(node_calls, that_are_wrong_on_one_rank_fail_on_all_ranks) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({0, 3, 7});
  const problem x = some_problem(form::alltoallv, p, 50, 1, types);
  for (const int culprit : {0, p - 1}) {
    rank_buffers mine(x, rank);
    mine.fill(3);
    rank_buffers bad(x, rank);
    bad.fill(3);
    if (rank == culprit) bad.send().counts[0] = -1;
    try {
      run(bad.given_to(MPI_COMM_WORLD));
      ADD_FAILURE() << "not noticed";
    } catch (const usage_error& e) {
      EXPECT_EQ(e.mpi_class(), MPI_ERR_COUNT);
      EXPECT_EQ(e.rank(), culprit);
      EXPECT_TRUE(e.collective());
    }
    EXPECT_TRUE(bad.untouched());
    run(mine.given_to(MPI_COMM_WORLD));
    EXPECT_EQ(mine.wrong_bytes(), 0U);
  }
}

TEST(node_calls, that_ask_for_different_things_fail_on_all_ranks) {
  const int p = size_of(MPI_COMM_WORLD);
  if (p == 1) GTEST_SKIP() << "one rank agrees with itself";
  auto types = types_of({0, 3, 7});
  const problem x = some_problem(form::alltoallv, p, 50, 1, types);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  mine.fill(4);
  const options different{.algorithm = rank_in(MPI_COMM_WORLD) == 1 ? "pairwise" : "auto"};
  EXPECT_THROW(run(mine.given_to(MPI_COMM_WORLD), different), usage_error);
  EXPECT_TRUE(mine.untouched());
  run(mine.given_to(MPI_COMM_WORLD));
  EXPECT_EQ(mine.wrong_bytes(), 0U);
}

// Rank 0 sends more than rank 1 expects, or less, without a check: an error there alone, and never a byte outside the
// receive block.
TEST(node_calls, whose_counts_do_not_match_write_nothing_outside_and_go_on) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  if (!shares_memory()) GTEST_SKIP() << "the rules of messages hold";
  for (const count_t sent : {count_t{7}, count_t{2000}, count_t{300000}})
    for (const count_t expected : {sent - 3, sent + 3}) {
      constexpr int beyond = 16;
      const auto n = static_cast<std::size_t>(p);
      std::vector<count_t> to(n), to_at(n), from(n), from_at(n);
      if (rank == 0) to[1] = sent;
      if (rank == 1) from[0] = expected;
      std::vector<char> out(static_cast<std::size_t>(sent), 'x');
      std::vector<char> in(static_cast<std::size_t>(expected + beyond), '.');
      const auto x =
          exchange::alltoallv(out.data(), count_view(to.data()), count_view(to_at.data()), MPI_CHAR, in.data(),
                              count_view(from.data()), count_view(from_at.data()), MPI_CHAR, MPI_COMM_WORLD);
      if (rank == 1) {
        try {
          run(x);
          ADD_FAILURE() << "not noticed";
        } catch (const usage_error& e) {
          EXPECT_EQ(e.mpi_class(), sent > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
          EXPECT_NE(std::string_view(e.what()).find(
                        fmt::format("rank 0 sends {} bytes to rank 1, which expects {} bytes", sent, expected)),
                    std::string_view::npos)
              << e.what();
          EXPECT_FALSE(e.collective());
        }
      } else {
        run(x);
      }
      if (rank != 1) continue;
      const auto arrived = static_cast<std::size_t>(std::min(sent, expected));
      for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], i < arrived ? 'x' : '.') << i;
    }
}

TEST(node_calls, follow_each_other_on_communicators_that_overlap_and_come_and_go) {
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({0, 3, 7});
  std::mt19937 random(static_cast<unsigned>(rank));
  const auto exchange_on = [&](MPI_Comm comm, unsigned seed) {
    const problem x = some_problem(form::alltoallv, size_of(comm), 600, seed, types);
    rank_buffers mine(x, rank_in(comm));
    mine.fill(static_cast<int>(seed));
    delay(random);
    run(mine.given_to(comm));
    EXPECT_EQ(mine.wrong_bytes(), 0U);
  };
  for (unsigned round = 0; round < (brief() ? 3U : 20U); ++round) {
    const scoped_comm copy(duplicate(MPI_COMM_WORLD));
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
    const scoped_comm half(made);
    exchange_on(copy.get(), round);
    exchange_on(half.get(), round + 1);
    exchange_on(MPI_COMM_WORLD, round + 2);
    exchange_on(half.get(), round + 3);
    exchange_on(copy.get(), round + 4);
  }
}

TEST(node_calls, work_on_hundreds_of_communicators_alive) {
  auto types = types_of({0, 3, 7});
  const problem x = some_problem(form::alltoallv, size_of(MPI_COMM_WORLD), 40, 3, types);
  std::vector<MPI_Comm> all;
  for (int i = 0; i < (brief() ? 20 : 200); ++i) all.push_back(duplicate(MPI_COMM_WORLD));
  for (int again = 0; again < 2; ++again)
    for (const MPI_Comm comm : all) {
      rank_buffers mine(x, rank_in(comm));
      mine.fill(again);
      run(mine.given_to(comm));
      ASSERT_EQ(mine.wrong_bytes(), 0U);
    }
  for (MPI_Comm& comm : all) MPI_Comm_free(&comm);
}

#if !defined(TAQUIN_SMPI) && !defined(__SANITIZE_THREAD__)
TEST(node_calls, go_on_after_a_fork) {
  auto types = types_of({0, 3, 7});
  const problem x = some_problem(form::alltoallv, size_of(MPI_COMM_WORLD), 9000, 3, types);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  mine.fill(1);
  run(mine.given_to(MPI_COMM_WORLD));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  mine.fill(2);
  run(mine.given_to(MPI_COMM_WORLD));
  EXPECT_EQ(mine.wrong_bytes(), 0U);
}
#endif

}  // namespace
}  // namespace taquin::test
