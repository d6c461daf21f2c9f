// Plans that tune themselves: right bytes at every start, one choice on all ranks, within the memory.
#include "select/autotuner.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

using detail::autotuner;

constexpr int all_measured =
    static_cast<int>(autotuner::most) * autotuner::tries + 1;  // starts, at most, with the one that exchanges the times

class tuned_plans : public testing::Test {
 protected:
  tuned_plans() { types_.push_back(all_types[0].make()); }

  problem make_problem(const workload& w, count_t most, bool in_place = false) {
    std::mt19937 random(5);
    const int p = size_of(MPI_COMM_WORLD);
    return {.kind = exchange::form::alltoallv,
            .p = p,
            .counts = w.make(p, most, random),
            .seed = 5,
            .in_place = in_place,
            .symmetric = false,
            .types = &types_};
  }

  static bool alike_on_all_ranks(std::string_view text) {
    std::string first(text);
    first.resize(64);
    const std::string mine = first;
    MPI_Bcast(first.data(), 64, MPI_CHAR, 0, MPI_COMM_WORLD);
    return !any_rank(mine != first);
  }

 private:
  std::vector<type_pair> types_;
};

TEST_F(tuned_plans, bring_the_right_bytes_while_they_measure_and_after) {
  for (const bool in_place : {false, true})
    for (const count_t most : {3, 5000})
      for (const auto& w : all_workloads) {
        const problem x = make_problem(w, most, in_place);
        SCOPED_TRACE(fmt::format("{}, most {}, in place {}", w.name, most, in_place));
        rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
        plan p(mine.given_to(MPI_COMM_WORLD), {.tune = true});
        for (int start = 0; start < all_measured + 3; ++start) {
          mine.fill(start);
          if (start % 3 == 0) {
            p.run();
          } else {
            p.start();
            if (start % 3 == 1) p.wait();
            while (!p.test()) {
            }
          }
          ASSERT_EQ(mine.wrong_bytes(), 0U) << "start " << start << ", " << p.algorithm();
          ASSERT_TRUE(alike_on_all_ranks(p.algorithm())) << "start " << start;
        }
      }
}

TEST_F(tuned_plans, try_several_algorithms_and_stay_with_one) {
  const problem x = make_problem(all_workloads[0], 2000);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  statistics stats;
  plan p(mine.given_to(MPI_COMM_WORLD), {.tune = true, .progress = progress_by::calls, .stats = &stats});
  const std::size_t at_first = p.memory();
  std::vector<std::string> ran;
  mine.fill(1);
  for (int start = 0; start < all_measured + 5; ++start) {
    p.run();
    ran.emplace_back(p.algorithm());
    EXPECT_EQ(stats.algorithm, p.algorithm());
    EXPECT_EQ(stats.starts, static_cast<std::uint64_t>(start) + 1);
  }
  const auto measured = ran.begin() + all_measured;
  EXPECT_EQ(std::set<std::string>(ran.begin(), measured).size(), 4U);
  EXPECT_EQ(std::set<std::string>(measured, ran.end()).size(), 1U);
  EXPECT_TRUE(std::set<std::string>(ran.begin(), measured).contains(ran.back()));
  EXPECT_TRUE(std::set<std::string>(ran.begin(), measured).contains("native"));
  EXPECT_LT(p.memory(), at_first) << "what lost is freed";
}

/// Does nothing but take its time on one rank.
class idler final : public detail::operation {
 public:
  idler(bool slow, int* starts) : slow_(slow), starts_(starts) {}
  void start() override {
    ++*starts_;
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  bool test() override { return true; }
  void wait() override {}
  void account(statistics&) const override {}

 private:
  bool slow_;
  int* starts_;
};

// Seen from every rank alone another candidate would be the best.
TEST_F(tuned_plans, choose_by_the_slowest_rank) {
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  const int last = comm.size() - 1;
  detail::memory_budget memory;
  std::array<int, 3> starts{};
  std::pmr::vector<detail::prepared_candidate> all(&memory);
  all.reserve(3);
  all.push_back({&detail::native, detail::make_operation<idler>(memory, comm.rank() == 0, &starts[0])});
  all.push_back({&detail::pairwise, detail::make_operation<idler>(memory, comm.rank() == last, &starts[1])});
  all.push_back({&detail::one_factor, detail::make_operation<idler>(memory, false, &starts[2])});
  {
    autotuner body(std::move(all), comm, comm.next_tag(), memory);
    for (int i = 0; i < 3 * autotuner::tries; ++i) {
      body.start();
      while (!body.test()) {
      }
    }
    EXPECT_EQ(starts, (std::array<int, 3>{autotuner::tries, autotuner::tries, autotuner::tries}));
    body.run();  // exchanges the times
    EXPECT_EQ(starts[0], autotuner::tries + 1);
    body.run();
    EXPECT_EQ(body.running(), &detail::one_factor);
    EXPECT_EQ(starts[2], autotuner::tries + 1);
  }
  EXPECT_EQ(memory.used(), 0U);
}

// As a nonblocking collective: a rank may be elsewhere between start and wait, at every start.
TEST_F(tuned_plans, need_no_rank_between_start_and_wait) {
  const problem x = make_problem(all_workloads[0], 100);
  const int rank = rank_in(MPI_COMM_WORLD);
  rank_buffers mine(x, rank);
  plan p(mine.given_to(MPI_COMM_WORLD), {.tune = true});
  for (int start = 0; start < all_measured + 2; ++start) {
    mine.fill(start);
    p.start();
    if ((rank + start) % 2 == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      p.wait();
    } else {
      p.wait();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    ASSERT_EQ(mine.wrong_bytes(), 0U) << "start " << start << ", " << p.algorithm();
  }
}

TEST_F(tuned_plans, keep_to_the_memory_that_is_allowed) {
  for (const bool in_place : {false, true}) {
    const problem x = make_problem(all_workloads[1], 300, in_place);
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    for (std::size_t limit = 1 << 10; limit <= 1 << 20; limit += limit / 2) try {
        plan p(mine.given_to(MPI_COMM_WORLD), {.memory = limit, .tune = true});
        for (int start = 0; start < all_measured + 1; ++start) {
          mine.fill(start);
          p.run();
          ASSERT_EQ(mine.wrong_bytes(), 0U) << p.algorithm();
        }
        EXPECT_LE(p.peak_memory(), limit);
      } catch (const budget_exceeded&) {
        EXPECT_THROW(plan(mine.given_to(MPI_COMM_WORLD), {.memory = limit}), budget_exceeded);
      }
  }
}

TEST_F(tuned_plans, may_be_freed_at_any_time) {
  const problem x = make_problem(all_workloads[1], 2000);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  for (int starts = 0; starts <= all_measured + 1; ++starts) {
    plan p(mine.given_to(MPI_COMM_WORLD), {.tune = true});
    for (int i = 0; i < starts; ++i) {
      mine.fill(i);
      p.run();
      ASSERT_EQ(mine.wrong_bytes(), 0U);
    }
  }
}

// Two concurrent plans, completed in another order by every other rank.
TEST_F(tuned_plans, in_flight_together_do_not_meet) {
  const problem x = make_problem(all_workloads[1], 700);
  const int rank = rank_in(MPI_COMM_WORLD);
  rank_buffers one(x, rank);
  rank_buffers two(x, rank);
  plan first(one.given_to(MPI_COMM_WORLD), {.tune = true});
  plan second(two.given_to(MPI_COMM_WORLD), {.tune = true});
  for (int start = 0; start < all_measured + 2; ++start) {
    one.fill(start);
    two.fill(start + 100);
    first.start();
    second.start();
    plan& before = rank % 2 == 0 ? first : second;
    plan& after = rank % 2 == 0 ? second : first;
    bool before_done = false;
    while (!before_done) {
      before_done = before.test();
      static_cast<void>(after.test());
    }
    after.wait();
    ASSERT_EQ(one.wrong_bytes(), 0U) << first.algorithm();
    ASSERT_EQ(two.wrong_bytes(), 0U) << second.algorithm();
    EXPECT_TRUE(alike_on_all_ranks(first.algorithm()));
    EXPECT_TRUE(alike_on_all_ranks(second.algorithm()));
  }
}

TEST_F(tuned_plans, with_a_named_algorithm_keep_to_it) {
  const problem x = make_problem(all_workloads[0], 100);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  plan p(mine.given_to(MPI_COMM_WORLD), {.algorithm = "pairwise", .tune = true});
  for (int start = 0; start < 6; ++start) {
    p.run();
    EXPECT_EQ(p.algorithm(), "pairwise");
  }
}

TEST_F(tuned_plans, of_alltoallw_in_place_take_no_more_than_the_data_need) {
#ifdef TAQUIN_TEST_SIMULATED
  GTEST_SKIP() << "a node's memory serves it, and simulated ranks have no channels";
#endif
  for (const count_t most : {0, 40}) {
    problem x = make_problem(all_workloads[0], most, true);
    x.kind = exchange::form::alltoallw;
    x.symmetric = true;
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    const plan p(mine.given_to(MPI_COMM_WORLD), {.tune = true});
    EXPECT_LT(p.peak_memory(), std::size_t{16} << 20);
  }
}

TEST_F(tuned_plans, must_be_wanted_by_all_ranks) {
  if (size_of(MPI_COMM_WORLD) == 1) GTEST_SKIP();
  const problem x = make_problem(all_workloads[0], 100);
  const int rank = rank_in(MPI_COMM_WORLD);
  rank_buffers mine(x, rank);
  EXPECT_THROW(plan(mine.given_to(MPI_COMM_WORLD), {.tune = rank == 0}), usage_error);
}

// This is an error of only the rank that expects less: the others are about to exchange their times.
TEST_F(tuned_plans, are_not_made_of_counts_that_do_not_match) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  if (p < 2) GTEST_SKIP() << "takes two ranks";
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  std::vector<int> out(at(p) * 4, rank), in(at(p) * 4, -1);
  std::vector<count_t> sent(at(p), 2), expected(at(p), 2), displs(at(p));
  for (int i = 0; i < p; ++i) displs[at(i)] = 4 * i;
  const auto given = [&] {
    return exchange::alltoallv(out.data(), count_view(sent.data()), count_view(displs.data()), MPI_INT, in.data(),
                               count_view(expected.data()), count_view(displs.data()), MPI_INT, comm.get());
  };
  for (const count_t wrong : {count_t{3}, count_t{1}, count_t{0}}) {
    if (rank == 1) sent[0] = wrong;
    try {
      const plan made(given(), options{.tune = true, .progress = progress_by::calls});
      ADD_FAILURE() << "made with " << wrong << " of 2";
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_EQ(e.mpi_class(), wrong > 2 ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
    }
  }
  sent[0] = 2;
  run(given());
}

TEST(tuned_candidates, are_tried_with_other_options_of_their_own) {
  const detail::shape s{.ranks = 32,
                        .uniform = true,
                        .max_block_bytes = 8,
                        .min_block_bytes = 8,
                        .max_rank_bytes = 256,
                        .nodes = 16,
                        .largest_node = 2,
                        .smallest_node = 2};
  const std::array ranking{&detail::node_aggregated, &detail::multilevel, &detail::native};
  const auto of = [&](const options& o, std::size_t limit) { return detail::candidates(ranking, s, o, limit); };
  const auto all = of({}, unlimited);
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t i = 0; i < ranking.size(); ++i) EXPECT_EQ(all[i].what, ranking[i]);
  EXPECT_EQ(all[3].what, &detail::node_aggregated);
  EXPECT_EQ(all[3].opts.node_aggregated.leaders, 1);
  EXPECT_EQ(all[4].what, &detail::multilevel);
  EXPECT_EQ(all[4].opts.bruck.radix, 2);
  const options named{.bruck = {.radix = 3}, .node_aggregated = {.leaders = 2}};
  EXPECT_EQ(of(named, unlimited).size(), 3U);
  std::size_t least = detail::autotuner::overhead(s.ranks, 3);
  for (const auto* a : ranking) least += a->memory(s, {});
  EXPECT_EQ(of({}, least).size(), 3U);
}

}  // namespace
}  // namespace taquin::test
