// Plans whose ranks are on one node, with nothing chosen by the caller: those of small and medium blocks go through the
// node's memory, and no plan needs a rank after its start.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/blocking_channel.hpp"
#include "support/some_problem.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

/// The longest block of a plan that goes through memory: more where it can be copied once.
count_t most_through_memory(const type_pair& types) {
  const detail::channel* const node = detail::blocking_channel(MPI_COMM_WORLD);
  const bool once = node != nullptr && node->single_copies() && element::of(types.send.type).contiguous() &&
                    element::of(types.recv.type).contiguous();
  return once ? 524288 : 65536;
}

/// A plan with its data.
class owned_plan {
 public:
  owned_plan(const problem& given, MPI_Comm comm, const options& o = {})
      : what_(given), mine_(what_, rank_in(comm)), made_(mine_.given_to(comm), o) {}
  void start(int turn) {
    mine_.fill(turn);
    made_.start();
  }
  bool test() { return made_.test(); }
  void wait() {
    made_.wait();
    EXPECT_EQ(mine_.wrong_bytes(), 0U) << made_.algorithm();
  }
  /// The send buffer is the program's again.
  void write_something_else() { mine_.fill(-1); }
  [[nodiscard]] std::string_view algorithm() const { return made_.algorithm(); }
  [[nodiscard]] std::size_t memory() const { return made_.memory(); }
  [[nodiscard]] std::size_t peak_memory() const { return made_.peak_memory(); }

 private:
  problem what_;
  rank_buffers mine_;
  plan made_;
};

/// Plans in the order in which this rank waits for them.
std::vector<owned_plan*> in_own_order(std::deque<owned_plan>& plans, int turn) {
  std::vector<owned_plan*> order;
  for (auto& x : plans) order.push_back(&x);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::ranges::rotate(order, order.begin() + (rank + turn) % static_cast<int>(order.size()));
  if (rank % 2 == 1) std::ranges::reverse(order);
  return order;
}

// One rank is in a barrier of the program until all others have completed. Bytes at each border between ways of a
// block.
TEST(node_plans, need_no_rank_after_its_start_at_any_size) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  for (const std::size_t type : {1U, 3U, 5U}) {
    auto types = types_of({type});
    for (const count_t bytes : {0, 1, 32, 40, 8192, 12000, 16384, 16400, 65536, 65544, 524288, 524289, 524296}) {
      if (brief() && (type > 1 || bytes % 1000 == 0)) continue;
      const count_t unit = types[0].send.size();
      const problem x = some_problem(form::alltoall, p, (bytes + unit - 1) / unit, 1, types);
      owned_plan made(x, MPI_COMM_WORLD);
      SCOPED_TRACE(fmt::format("{} bytes by {}", bytes, made.algorithm()));
      if (shares_memory() && bytes > 0) {
        EXPECT_EQ(made.algorithm() == "shared_memory", bytes <= most_through_memory(types[0]));
      }
      for (int turn = 0; turn < std::min(p, 3); ++turn) {
        const bool last = rank == turn % p;
        made.start(turn);
        if (last) MPI_Barrier(MPI_COMM_WORLD);
        made.wait();
        if (!last) MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
}

/// Waits by looking, as programs do that work meanwhile.
void test_until_complete(owned_plan& x) {
  while (!x.test()) usleep(10);
  x.wait();
}

// A sender whose receiver is late takes its block back, and may then write its buffer.
TEST(node_plans, keep_the_data_of_late_receivers) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({0, 3});
  for (const auto kind : {form::alltoall, form::alltoallv})
    for (const bool tests : {false, true}) {
      owned_plan made(some_problem(kind, p, 30000, 1, types), MPI_COMM_WORLD);
      for (int turn = 0; turn < 3 * p; ++turn) {
        const bool last = rank == turn % p;
        made.start(turn);
        if (last) MPI_Barrier(MPI_COMM_WORLD);
        tests ? test_until_complete(made) : made.wait();
        made.write_something_else();
        if (!last) MPI_Barrier(MPI_COMM_WORLD);
      }
    }
}

// A rank begins and claims while others take back.
TEST(node_plans, are_right_when_receivers_come_at_any_moment) {
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({0});
  owned_plan made(some_problem(form::alltoallv, p, 40000, 2, types), MPI_COMM_WORLD);
  std::mt19937 random(static_cast<unsigned>(rank_in(MPI_COMM_WORLD)) + 1);
  for (int turn = 0; turn < (brief() ? 10 : 200); ++turn) {
    made.start(turn);
    if (random() % 2 == 0) usleep(static_cast<useconds_t>(random() % 200));
    if (random() % 2 == 0)
      test_until_complete(made);
    else
      made.wait();
    made.write_something_else();
  }
}

// On communicators that overlap, in any order, with blocking calls in between, by waiting and by testing.
TEST(node_plans, go_on_beside_each_other_and_beside_blocking_calls) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({0, 3, 5});
  const scoped_comm copy(duplicate(MPI_COMM_WORLD));
  MPI_Comm split = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split);
  const scoped_comm half(split);
  std::deque<owned_plan> plans;
  unsigned seed = 0;
  for (const MPI_Comm comm : {MPI_COMM_WORLD, copy.get(), half.get(), MPI_COMM_WORLD})
    for (const auto kind : {form::alltoallv, form::alltoallw}) {
      ++seed;
      plans.emplace_back(some_problem(kind, size_of(comm), seed % 3 == 0 ? 9 : 3000, seed, types), comm);
    }
  plans.emplace_back(some_problem(form::alltoall, p, 30000, 1, types), MPI_COMM_WORLD);
  std::mt19937 random(static_cast<unsigned>(rank));
  for (int turn = 0; turn < (brief() ? 2 : 6); ++turn) {
    for (auto& x : plans) x.start(turn);
    const problem between = some_problem(form::alltoallv, p, 500, static_cast<unsigned>(turn), types);
    rank_buffers mine(between, rank);
    mine.fill(turn);
    usleep(static_cast<useconds_t>(random() % 300));
    run(mine.given_to(turn % 2 == 0 ? MPI_COMM_WORLD : copy.get()));
    EXPECT_EQ(mine.wrong_bytes(), 0U);
    for (owned_plan* x : in_own_order(plans, turn)) {
      while (random() % 2 == 0 && !x->test()) usleep(static_cast<useconds_t>(random() % 50));
      x->wait();
    }
  }
}

// A rank begins its next exchange while others have not read all of the one before.
TEST(node_plans, are_right_however_late_each_rank_is) {
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({0});
  owned_plan made(some_problem(form::alltoallv, p, 5000, 1, types), MPI_COMM_WORLD);
  std::mt19937 random(static_cast<unsigned>(rank_in(MPI_COMM_WORLD)) + 1);
  const auto delay = [&] {
    if (random() % 4 == 0) usleep(static_cast<useconds_t>(random() % 500));
  };
  for (int turn = 0; turn < (brief() ? 5 : 50); ++turn) {
    delay();
    made.start(turn);
    delay();
    if (random() % 2 == 0) made.test();
    delay();
    made.wait();
  }
}

TEST(node_plans, exchange_in_place) {
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({3});
  for (const count_t most : {5, 4000}) {
    problem x = some_problem(form::alltoallv, p, most, 1, types);
    x.in_place = true;
    make_symmetric(x.counts);
    owned_plan made(x, MPI_COMM_WORLD);
    for (int turn = 0; turn < 3; ++turn) {
      made.start(turn);
      made.wait();
    }
  }
}

/// Files of memory that taquin has mapped in this process.
int mapped_files() {
  std::ifstream maps("/proc/self/maps");
  int n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find("memfd:taquin") != std::string::npos ? 1 : 0;
  return n;
}

TEST(node_plans, count_the_memory_that_they_share_and_give_it_back) {
  if (!shares_memory()) GTEST_SKIP() << "nothing is shared";
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({1});
  const problem x = some_problem(form::alltoall, p, 20000, 1, types);
  rank_buffers first(x, rank_in(MPI_COMM_WORLD));
  first.fill(0);
  run(first.given_to(MPI_COMM_WORLD));  // the channel of blocking calls
  int files = 0;
  for (int again = 0; again < 40; ++again) {
    MPI_Barrier(MPI_COMM_WORLD);  // all have left the memory of the plan before
    owned_plan made(x, MPI_COMM_WORLD);
    ASSERT_EQ(made.algorithm(), "shared_memory");
    if (again == 0) files = mapped_files();
    EXPECT_EQ(mapped_files(), files);
    const auto halves = 2 * static_cast<std::size_t>(p - 1) * 20000;
    EXPECT_GE(made.memory(), halves);
    EXPECT_LE(made.peak_memory(), 2 * halves + std::size_t{100} * 1024);
    made.start(1);
    made.wait();
  }
}

// Blocks that do not fit into the least memory of any rank go by messages, on all ranks.
TEST(node_plans, keep_to_the_smallest_memory_of_any_rank) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({0});
  const problem x = some_problem(form::alltoall, p, 5000, 1, types);
  for (const std::size_t memory : {20000U, 100000U, 1000000U}) {
    owned_plan made(x, MPI_COMM_WORLD, {.memory = rank == p - 1 ? memory : unlimited});
    const bool by_memory = made.algorithm() == "shared_memory";
    EXPECT_EQ(any_rank(by_memory), by_memory) << "all ranks alike";
    EXPECT_EQ(by_memory, shares_memory() && memory > 40000U * static_cast<std::size_t>(p)) << memory;
    made.start(1);
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    made.wait();
    if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(rank < p - 1 || made.peak_memory() <= memory) << made.peak_memory();
  }
}

// A plan that measures takes no candidate that would need ranks after their start.
TEST(node_plans, that_measure_need_no_rank_after_its_start) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  auto types = types_of({1});
  for (const count_t bytes : {100, 12000, 100000})
    for (const std::size_t memory : {unlimited, std::size_t{120000} * static_cast<std::size_t>(p)}) {
      owned_plan made(some_problem(form::alltoall, p, bytes, 1, types), MPI_COMM_WORLD,
                      {.memory = memory, .tune = true});
      for (int turn = 0; turn < 14; ++turn) {
        made.start(turn);
        made.wait();
      }
      made.start(20);
      if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
      made.wait();
      if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
    }
}

#if !defined(TAQUIN_SMPI) && !defined(__SANITIZE_THREAD__)
TEST(node_plans, go_on_after_a_fork_between_start_and_wait) {
  auto types = types_of({0});
  owned_plan made(some_problem(form::alltoallv, size_of(MPI_COMM_WORLD), 3000, 3, types), MPI_COMM_WORLD);
  for (int turn = 0; turn < 2; ++turn) {
    made.start(turn);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    made.wait();
  }
}
#endif

// A rank frees its plan, and its communicator, while others have not read what it has sent.
TEST(node_plans, may_be_freed_as_soon_as_they_are_complete) {
  const int p = size_of(MPI_COMM_WORLD);
  auto types = types_of({1});
  for (int turn = 0; turn < p; ++turn) {
    const scoped_comm copy(duplicate(MPI_COMM_WORLD));
    owned_plan made(some_problem(form::alltoall, p, 30000, 1, types), copy.get());
    made.start(turn);
    if (rank_in(MPI_COMM_WORLD) == turn) usleep(2000);
    made.wait();
  }
}

}  // namespace
}  // namespace taquin::test
