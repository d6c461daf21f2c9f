// `auto` over MPI: right results on changing sizes, the same choice on all ranks, with good and bad profiles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "select/choose.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

problem make_problem(const workload& w, count_t most, unsigned seed, std::vector<type_pair>& types) {
  std::mt19937 random(seed);
  const int p = size_of(MPI_COMM_WORLD);
  return {.kind = exchange::form::alltoallv, .p = p, .counts = w.make(p, most, random), .seed = seed, .types = &types};
}

// One blocking exchange; the name of what ran.
std::string run_automatic(const problem& x, std::size_t memory = unlimited) {
  statistics stats;
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  mine.fill(static_cast<int>(x.seed));
  run(mine.given_to(MPI_COMM_WORLD), {.memory = memory, .stats = &stats});
  EXPECT_EQ(mine.wrong_bytes(), 0U) << stats.algorithm << ", seed " << x.seed;
  return std::string(stats.algorithm);
}

bool alike_on_all_ranks(const std::string& text) {
  std::string first = text;
  first.resize(64);
  MPI_Bcast(first.data(), 64, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::string mine = text;
  mine.resize(64);
  return !any_rank(mine != first);
}

// Whatever a step carried in vain, or did not carry, the bytes are right.
TEST(automatic, is_right_while_sizes_change_from_call_to_call) {
  std::vector<type_pair> types;
  types.push_back(all_types[0].make());
  unsigned seed = 1;
  for (const count_t most : {1, 20000, 2, 2, 3000, 1, 1, 0, 5, 100000, 1, 60, 70, 4000, 1})
    for (const auto& w : all_workloads) {
      if (brief() && seed % 3 != 0 && ++seed != 0) continue;
      EXPECT_TRUE(alike_on_all_ranks(run_automatic(make_problem(w, std::max<count_t>(most, 1), ++seed, types))))
          << w.name << ", most " << most;
    }
}

TEST(automatic, is_right_for_every_type_and_form) {
  unsigned seed = 1000;
  for (const auto& t : all_types)
    for (const bool in_place : {false, true})
      for (const bool symmetric : {true, false}) {
        std::vector<type_pair> types;
        types.push_back(t.make());
        problem x = make_problem(all_workloads[1], 7, ++seed, types);
        x.interleaves = t.interleaves;
        x.in_place = in_place;
        x.symmetric = symmetric || !in_place;
        if (x.in_place && x.symmetric) make_symmetric(x.counts);
        SCOPED_TRACE(fmt::format("type {}, in place {}, symmetric {}", t.name, in_place, symmetric));
        try {
          run_automatic(x);
        } catch (const usage_error& e) {  // no algorithm is for such layouts in one buffer
          EXPECT_TRUE(in_place) << e.what();
        }
      }
}

TEST(automatic, keeps_to_a_limit_whenever_some_algorithm_can) {
  std::vector<type_pair> types;
  types.push_back(all_types[0].make());
  for (const count_t most : {2, 1000}) {
    const problem x = make_problem(all_workloads[0], most, 7, types);
    const detail::shape s = shape_of(x);
    std::size_t least = unlimited;
    for (const auto* a : detail::algorithms())
      if (a->supports(s)) least = std::min(least, a->memory(s, {}));
    statistics stats;
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    mine.fill(3);
    run(mine.given_to(MPI_COMM_WORLD), {.memory = least, .stats = &stats});
    EXPECT_EQ(mine.wrong_bytes(), 0U);
    EXPECT_LE(stats.peak_memory, least);
  }
}

TEST(automatic, plans_choose_alike_on_all_ranks) {
  std::vector<type_pair> types;
  types.push_back(all_types[0].make());
  for (const count_t most : {1, 100, 10000})
    for (const auto& w : all_workloads) {
      const problem x = make_problem(w, most, 77, types);
      rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
      plan p(mine.given_to(MPI_COMM_WORLD));
      EXPECT_TRUE(alike_on_all_ranks(std::string(p.algorithm())));
      for (int start = 0; start < 2; ++start) {
        mine.fill(start);
        p.run();
        EXPECT_EQ(mine.wrong_bytes(), 0U) << w.name;
      }
    }
}

// As on cores that compute differently: every rank takes another algorithm for the fastest.
TEST(automatic, ranks_that_predict_other_times_choose_alike) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const int rank = rank_in(comm.get());
  const int p = size_of(comm.get());
  auto& chooser = detail::chooser::get_or_create(mpi::communicator::get_or_create(comm.get()));
  EXPECT_TRUE(chooser.computes_identical()) << "ranks of one machine";
  const std::array names{"spread_out", "pairwise", "one_factor", "bruck_v", "two_phase"};
  detail::profile own;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const bool reused : {false, true})
      for (const int skew : {0, 1, 2})
        own.points.push_back({.algorithm = names[i],
                              .ranks = p,
                              .reused = reused,
                              .skew = skew,
                              .bytes = 1000,
                              .time = i == at(rank) % names.size() ? 1e-6 : 1e-3 * static_cast<double>(i + 1)});
  chooser.believe(own);
  EXPECT_FALSE(chooser.computes_identical());
  std::vector<type_pair> types;
  types.push_back(all_types[0].make());
  for (const count_t most : {1, 1000})
    for (const auto& w : std::span(all_workloads).first(2)) {
      SCOPED_TRACE(w.name);
      const problem x = make_problem(w, most, 78, types);
      rank_buffers mine(x, rank);
      for (const bool tune : {false, true}) {
        statistics s;
        const options o{.check = true, .tune = tune, .stats = &s};  // the fast path on a node chooses nothing
        mine.fill(1);
        run(mine.given_to(comm.get()), o);
        EXPECT_EQ(mine.wrong_bytes(), 0U);
        EXPECT_TRUE(alike_on_all_ranks(std::string(s.algorithm)));
        plan made(mine.given_to(comm.get()), o);
        for (int start = 0; start < (tune ? 14 : 1); ++start) {
          mine.fill(start);
          made.run();
          EXPECT_EQ(mine.wrong_bytes(), 0U);
          EXPECT_TRUE(alike_on_all_ranks(std::string(made.algorithm())));
        }
      }
    }
}

// Which profile serves is rank 0's matter: the same on all ranks whatever the others' environment says.
TEST(automatic, all_ranks_know_the_same_machine) {
  auto& chooser = detail::chooser::get_or_create(mpi::communicator::get_or_create(MPI_COMM_WORLD));
  const auto& m = chooser.known().model;
  EXPECT_TRUE(alike_on_all_ranks(fmt::format("{} {} {} {}", m.levels[0].loggp.latency, m.levels[0].loggp.overhead,
                                             m.copy.per_byte, chooser.known().points.size())));
}

}  // namespace
}  // namespace taquin::test
