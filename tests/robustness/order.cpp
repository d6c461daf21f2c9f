// Programs that the MPI standard allows with nonblocking operations: ranks start plans in one order and wait for them
// in any other, call other things in between, and need not come back before others have completed.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

/// Plans with data of their own, all of one algorithm.
class in_any_order : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  in_any_order() { types_.push_back(all_types[0].make()); }

  /// Adds a plan of blocks of up to `most` ints; false where the algorithm serves none.
  bool add(count_t most, options o) {
    const int p = size_of(MPI_COMM_WORLD);
    problem x{.kind = exchange::form::alltoallv, .p = p, .counts = {}, .seed = 1, .types = &types_};
    std::mt19937 random(static_cast<unsigned>(plans_.size()) + 1);
    x.counts = all_workloads[1].make(p, most, random);
    if (!GetParam()->supports(shape_of(x))) {
      x.kind = exchange::form::alltoall;
      x.counts.assign(at(p), std::vector<count_t>(at(p), most));
      x.in_place = !GetParam()->supports(shape_of(x));
    }
    o.algorithm = GetParam()->name;
    problems_.push_back(std::move(x));
    buffers_.emplace_back(problems_.back(), rank_);
    auto made = plan_if_served(buffers_.back().given_to(MPI_COMM_WORLD), o);
    if (made) plans_.push_back(std::move(*made));
    return made.has_value();
  }
  bool add_all(const options& o = {}) {
    for (const count_t most : {6, 20000, 300})
      if (!add(most, o)) return false;
    return true;
  }
  void start(std::size_t i, int turn) {
    buffers_[i].fill(turn * 10 + static_cast<int>(i));
    plans_[i].start();
  }
  void expect_right() {
    for (std::size_t i = 0; i < plans_.size(); ++i) EXPECT_EQ(buffers_[i].wrong_bytes(), 0U) << "plan " << i;
  }
  /// An order of the plans that is this rank's own.
  [[nodiscard]] std::vector<std::size_t> own_order(int turn) const {
    std::vector<std::size_t> order(plans_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::rotate(order, order.begin() + (rank_ + turn) % static_cast<int>(order.size()));
    if (rank_ % 2 == 1) std::ranges::reverse(order);
    return order;
  }

  int rank_ = rank_in(MPI_COMM_WORLD);
  std::vector<type_pair> types_;
  std::deque<problem> problems_;
  std::deque<rank_buffers> buffers_;
  std::deque<plan> plans_;
};

TEST_P(in_any_order, plans_complete) {
  if (!add_all()) GTEST_SKIP() << "serves none of these";
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t i = 0; i < plans_.size(); ++i) start(i, turn);
    for (const std::size_t i : own_order(turn)) plans_[i].wait();
    expect_right();
  }
}

TEST_P(in_any_order, plans_are_tested_until_they_are_complete) {
  if (!add_all()) GTEST_SKIP() << "serves none of these";
  for (int turn = 0; turn < 2; ++turn) {
    for (std::size_t i = 0; i < plans_.size(); ++i) start(i, turn);
    for (const std::size_t i : own_order(turn))
      while (!plans_[i].test()) {
      }
    expect_right();
  }
}

TEST_P(in_any_order, plans_are_made_and_other_calls_done_while_some_are_started) {
  const scoped_comm other(duplicate(MPI_COMM_WORLD));
  std::vector<int> in(at(size_of(MPI_COMM_WORLD)));
  const std::vector<int> out(in.size(), rank_);
  const auto call = [&](std::string_view algorithm) {
    alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, other.get(), {.algorithm = algorithm});
  };
  call("auto");
  if (!add(20000, {})) GTEST_SKIP() << "serves none of these";
  for (int turn = 0; turn < 2; ++turn) {
    start(0, turn);
    const bool first = (rank_ + turn) % 2 == 0;
    if (first) plans_[0].wait();
    for (const char* algorithm : {"auto", "spread_out", "modified_bruck"}) call(algorithm);
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(in[i], static_cast<int>(i));
    add(300, {});
    if (!first) plans_[0].wait();
    EXPECT_EQ(buffers_[0].wrong_bytes(), 0U);
  }
}

/// One rank is in a barrier of the program, after its start and before its wait, until all others have completed.
TEST_P(in_any_order, a_barrier_stands_between_start_and_wait) {
  const detail::algorithm& a = *GetParam();
  const bool by_itself = a.name == "native" || a.name == "spread_out";
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (!by_itself && provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "takes MPI_THREAD_MULTIPLE";
  if (!add_all({.progress = by_itself ? progress_by::library : progress_by::thread}))
    GTEST_SKIP() << "serves none of these";
  for (int turn = 0; turn < 3; ++turn) {
    const bool last = rank_ == turn % size_of(MPI_COMM_WORLD);
    for (std::size_t i = 0; i < plans_.size(); ++i) start(i, turn);
    if (last) MPI_Barrier(MPI_COMM_WORLD);
    for (const std::size_t i : own_order(turn)) plans_[i].wait();
    if (!last) MPI_Barrier(MPI_COMM_WORLD);
    expect_right();
  }
}

INSTANTIATE_TEST_SUITE_P(list, in_any_order,
                         testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

// The same where taquin chooses, with no thread: plans then end by the MPI library's progress alone.
TEST(automatic_plans, need_no_call_of_taquin_after_their_start) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<type_pair> types;
  types.push_back(all_types[3].make());
  for (const count_t most : {1, 8, 100, 3000, 30000})
    for (const exchange::form kind : {exchange::form::alltoall, exchange::form::alltoallv, exchange::form::alltoallw}) {
      problem x{.kind = kind, .p = p, .counts = {}, .seed = 1, .types = &types};
      std::mt19937 random(1);
      x.counts = all_workloads[kind == exchange::form::alltoall ? 0 : 1].make(p, most, random);
      rank_buffers mine(x, rank);
      plan made(mine.given_to(MPI_COMM_WORLD));
      for (int turn = 0; turn < 3; ++turn) {
        const bool last = rank == turn % p;
        mine.fill(turn);
        made.start();
        if (last) MPI_Barrier(MPI_COMM_WORLD);
        made.wait();
        if (!last) MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(mine.wrong_bytes(), 0U) << made.algorithm();
      }
    }
}

TEST(redistributions, and_plans_are_waited_for_in_any_order) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  constexpr int blocks = 50;
  std::vector<int> data(blocks, rank);
  std::vector<int> ranks(blocks);
  std::vector<int> indices(blocks);
  for (int i = 0; i < blocks; ++i) {
    ranks[at(i)] = (rank + i) % p;
    indices[at(i)] = i;
  }
  redistribution moves(data.data(), blocks, 1, MPI_INT, MPI_COMM_WORLD);
  const std::vector<int> out(at(p), rank);
  std::vector<int> in(out.size());
  plan exchange_of_ints(exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD),
                        {.algorithm = "modified_bruck"});
  for (int turn = 0; turn < 4; ++turn) {
    std::ranges::fill(data, rank);
    std::ranges::fill(in, -1);
    moves.start(ranks, indices);
    exchange_of_ints.start();
    if ((rank + turn) % 2 == 0) {
      moves.wait();
      exchange_of_ints.wait();
    } else {
      exchange_of_ints.wait();
      moves.wait();
    }
    for (int i = 0; i < blocks; ++i) EXPECT_EQ(data[at(i)], (rank + p * blocks - i) % p) << i;
    for (int i = 0; i < p; ++i) EXPECT_EQ(in[at(i)], i);
  }
}

}  // namespace
}  // namespace taquin::test
