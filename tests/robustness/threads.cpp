// Threads of a process that use taquin at the same time, each on communicators of its own: the first use of all, calls,
// plans and redistributions on communicators that are made and freed meanwhile, datatypes that threads share, plans
// that another thread frees. With the thread sanitizer a data race fails.
#include <gtest/gtest.h>

#include <barrier>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

constexpr int threads = 3;

class in_threads : public testing::Test {
 protected:
  in_threads() {
    for (const std::size_t t : {3U, 0U, 7U}) types_.push_back(all_types[t].make());
    for (int i = 0; i < threads; ++i) comms_.emplace_back(duplicate(MPI_COMM_WORLD));
  }

  void SetUp() override {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI library has no MPI_THREAD_MULTIPLE";
  }

  problem make_problem(form kind, unsigned seed, count_t most = 20) {
    problem x{.kind = kind, .p = size_of(MPI_COMM_WORLD), .counts = {}, .seed = seed, .types = &types_};
    std::mt19937 random(seed);
    x.counts = all_workloads[kind == form::alltoall ? 0 : 1].make(x.p, most, random);
    return x;
  }

  /// f(thread, its communicator) in all threads, which begin together.
  void run_all(const std::function<void(int, MPI_Comm)>& f) {
    std::barrier begin(threads);
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&, i] {
        begin.arrive_and_wait();
        f(i, comms_[at(i)].get());
      });
  }

  static void call(const problem& x, MPI_Comm comm, const options& o = {}) {
    rank_buffers mine(x, rank_in(comm));
    mine.fill(1);
    run(mine.given_to(comm), o);
    EXPECT_EQ(mine.wrong_bytes(), 0U);
  }

  static void start_and_wait(plan& p, rank_buffers& mine, int salt) {
    mine.fill(salt);
    p.start();
    if (salt % 2 == 0)
      while (!p.test()) std::this_thread::yield();
    p.wait();
    EXPECT_EQ(mine.wrong_bytes(), 0U);
  }

  std::vector<type_pair> types_;
  std::deque<scoped_comm> comms_;
};

// First of all tests: objects that exist once in a process are made by all threads concurrently.
TEST_F(in_threads, the_first_use_of_the_library_is_by_all_at_once) {
  run_all([&](int, MPI_Comm comm) {
    for (const auto kind : {form::alltoallw, form::alltoallv, form::alltoall}) call(make_problem(kind, 1), comm);
  });
}

TEST_F(in_threads, communicators_are_made_and_freed_while_others_exchange) {
  run_all([&](int thread, MPI_Comm own) {
    for (int turn = 0; turn < 6; ++turn) {
      const problem x = make_problem(form::alltoallv, static_cast<unsigned>(turn + 1), turn == 3 ? 4000 : 20);
      scoped_comm copy(duplicate(own));
      call(x, copy.get());
      rank_buffers mine(x, rank_in(copy.get()));
      plan p(mine.given_to(copy.get()), {.tune = turn % 2 == 0});
      if ((turn + thread) % 2 == 0) copy.free();  // which the plan outlives
      for (int start = 0; start < 3; ++start) start_and_wait(p, mine, start);
    }
  });
}

TEST_F(in_threads, all_algorithms_deliver_every_block) {
  run_all([&](int thread, MPI_Comm comm) {
    const auto all = detail::algorithms();
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto* a = all[(k + at(thread) * 5) % all.size()];
      problem x = make_problem(form::alltoall, 3);
      x.in_place = std::string_view(a->name).starts_with("in_place");
      rank_buffers mine(x, rank_in(comm));
      auto p = plan_if_served(mine.given_to(comm), {.algorithm = a->name});
      if (!p) continue;
      call(x, comm, {.algorithm = a->name});
      for (int start = 0; start < 2; ++start) start_and_wait(*p, mine, start);
    }
  });
}

TEST_F(in_threads, plans_may_be_freed_by_another_thread) {
  struct made {
    std::optional<rank_buffers> mine;
    std::optional<plan> p;
  };
  const problem x = make_problem(form::alltoallw, 4);
  std::deque<made> given(threads);
  std::barrier handed_over(threads);
  run_all([&](int thread, MPI_Comm own) {
    for (int turn = 0; turn < 4; ++turn) {
      scoped_comm copy(duplicate(own));
      made& mine = given[at(thread)];
      mine.mine.emplace(x, rank_in(copy.get()));
      mine.p.emplace(mine.mine->given_to(copy.get()), options{});
      start_and_wait(*mine.p, *mine.mine, turn);
      if (turn % 2 == 0) copy.free();
      handed_over.arrive_and_wait();
      given[at((thread + 1) % threads)].p.reset();
      handed_over.arrive_and_wait();
    }
  });
}

TEST_F(in_threads, redistributions_move_every_block) {
  run_all([&](int thread, MPI_Comm comm) {
    const int p = size_of(comm);
    const int rank = rank_in(comm);
    constexpr int blocks = 6;
    std::vector<int> data(blocks), ranks(blocks), places(blocks), expected(blocks);
    for (int turn = 0; turn < 4; ++turn) {
      for (int k = 0; k < blocks; ++k) {
        data[at(k)] = rank * 1000 + k;
        ranks[at(k)] = (rank + 1) % p;
        places[at(k)] = (k + thread) % blocks;
        expected[at((k + thread) % blocks)] = (rank + p - 1) % p * 1000 + k;
      }
      redistribution moved(data.data(), blocks, 1, MPI_INT, comm);
      moved(std::span<const int>(ranks), std::span<const int>(places));
      EXPECT_EQ(data, expected);
    }
  });
}

}  // namespace
}  // namespace taquin::test
