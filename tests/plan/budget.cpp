// The budget is the truth: exactly what an algorithm states is enough, and nothing is taken beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "plan/plan_state.hpp"
#include "support/heap_watch.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

class budget : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  /// Calls f(problem) for every kind of exchange, with communicators' own state made before.
  template <class F>
  void for_each_problem(F f) {
    const int p = size_of(MPI_COMM_WORLD);
    std::vector<type_pair> types;
    for (const std::size_t t : {0U, 3U, 7U}) types.push_back(all_types[t].make());
    for (const auto kind : {form::alltoall, form::alltoallv, form::alltoallw})
      for (const bool in_place : {false, true})
        for (const bool symmetric : {true, false}) {
          if (!symmetric && (!in_place || kind != form::alltoallv)) continue;
          // In the least memory steps in place are many and small, and all ranks wait for each of them.
          for (const count_t most : {3, std::min(4000, in_place ? 2000 / (p * p) : 12000 / p)}) {
            SCOPED_TRACE(fmt::format("form {}, {}in place, {}", static_cast<int>(kind), in_place ? "" : "not ", most));
            problem x{.kind = kind,
                      .p = p,
                      .counts = {},
                      .seed = 11,
                      .in_place = in_place,
                      .symmetric = symmetric,
                      .types = &types};
            std::mt19937 random(3);
            x.counts = all_workloads[kind == form::alltoall ? 0 : 1].make(p, most, random);
            if (in_place && symmetric) make_symmetric(x.counts);
            f(x);
          }
        }
  }

  [[nodiscard]] options opts(std::size_t memory = unlimited) const {
    return {.algorithm = GetParam()->name, .memory = memory};
  }

  /// The smallest limit that this exchange works with.
  [[nodiscard]] std::size_t least_memory(const exchange& x) const {
    std::size_t needed = 0;
    // With no memory at all MPI_Alltoallw's types cannot be looked at: the first answer may be too low.
    for (int attempt = 0; attempt < 2; ++attempt) try {
        const plan enough(x, opts(needed));
        break;
      } catch (const budget_exceeded& e) {
        needed = e.requested();
      }
    return needed;
  }
};

TEST_P(budget, the_stated_memory_is_enough_and_a_byte_less_is_not) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    const auto given = mine.given_to(MPI_COMM_WORLD);
    if (!plan_if_served(given, opts())) return;
    mine.fill(1);
    const std::size_t needed = least_memory(given);
    ASSERT_GT(needed, 0U) << "nothing can be done in no memory at all";
    EXPECT_THROW(run(given, opts(needed - 1)), budget_exceeded);
    EXPECT_THROW(plan(given, opts(needed - 1)), budget_exceeded);
    EXPECT_TRUE(mine.untouched());
    statistics stats;
    auto exact = opts(needed);
    exact.stats = &stats;
    run(given, exact);
    EXPECT_EQ(mine.wrong_bytes(), 0U);
    EXPECT_GT(stats.peak_memory, 0U);
    EXPECT_LE(stats.peak_memory, needed);
    plan again(given, exact);
    mine.fill(2);
    again.start();
    again.wait();
    EXPECT_EQ(mine.wrong_bytes(), 0U);
    EXPECT_LE(again.peak_memory(), needed);
  });
}

TEST_P(budget, all_memory_of_a_plan_is_counted) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    const auto given = mine.given_to(MPI_COMM_WORLD);
    if (!plan_if_served(given, opts())) return;  // which makes the communicator's own state as well
    mine.fill(1);
    const heap_watch deadline;
    const plan p(given, opts());
    // Counted memory lies on the heap, or in the plan itself if it is small.
    EXPECT_LE(deadline.live(), p.memory() + sizeof(detail::plan_state));
    EXPECT_LE(deadline.peak(), p.peak_memory() + sizeof(detail::plan_state));
  });
}

TEST_P(budget, no_more_than_the_limit_is_taken_from_the_least_that_works_to_as_much_as_the_data) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    const auto given = mine.given_to(MPI_COMM_WORLD);
    if (!plan_if_served(given, opts())) return;
    const auto all = static_cast<std::size_t>(shape_of(x).max_rank_bytes);
    const std::size_t least = least_memory(given);
    for (const std::size_t limit : {least, least + least / 3, all / 10, all}) {
      if (limit < least) continue;
      mine.fill(1);
      std::size_t blocking = 0;
      {
        const heap_watch deadline;
        run(given, opts(limit));
        blocking = deadline.peak();
      }
      EXPECT_LE(blocking, limit);
      EXPECT_EQ(mine.wrong_bytes(), 0U);
      mine.fill(2);
      std::size_t prepared = 0;
      {
        const heap_watch deadline;
        plan p(given, opts(limit));
        p.run();
        p.run();
        prepared = deadline.peak();
      }
      EXPECT_LE(prepared, limit + sizeof(detail::plan_state));
    }
  });
}

TEST_P(budget, a_started_plan_takes_nothing) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    auto p = plan_if_served(mine.given_to(MPI_COMM_WORLD), opts());
    if (!p) return;
    for (int start = 0; start < 3; ++start) {
      mine.fill(start);
      const std::size_t counted = p->memory();
      const heap_watch deadline;
      p->start();
      if (start == 1)
        while (!p->test()) {
        }
      p->wait();
      EXPECT_EQ(deadline.calls(), 0U) << "start " << start;
      EXPECT_EQ(p->memory(), counted);
      EXPECT_EQ(mine.wrong_bytes(), 0U);
    }
  });
}

/// The most that a failing call may take beside its limit: texts of errors, and requests of messages that are received
/// and dropped.
constexpr std::size_t taken_by_an_error = 256 << 10;

TEST_P(budget, a_call_that_fails_on_one_rank_takes_no_more_than_its_limit) {
  const int p = size_of(MPI_COMM_WORLD);
  const int me = rank_in(MPI_COMM_WORLD);
  if (p < 2) GTEST_SKIP() << "no other rank";
  constexpr count_t n = 1 << 20;  // of which a copy would be seen
  const std::vector<std::byte> sent(at(p * 2 * n));
  std::vector<std::byte> received(at(p * 2 * n), std::byte{9});
  std::vector<count_t> out(at(p), n), in(at(p), n), displs(at(p));
  for (int peer = 0; peer < p; ++peer) displs[at(peer)] = peer * 2 * n;
  const auto given =
      exchange::alltoallv(sent.data(), count_view(out.data()), count_view(displs.data()), MPI_BYTE, received.data(),
                          count_view(in.data()), count_view(displs.data()), MPI_BYTE, MPI_COMM_WORLD);
  if (!plan_if_served(given, opts())) return;
  const std::size_t least = least_memory(given);
  for (int call = 0; call < 3; ++call) run(given, opts(least));  // the communicator's own state is made
  const auto fail = [&](const char* how, std::size_t limit) {
    SCOPED_TRACE(how);
    std::ranges::fill(received, std::byte{9});
    const heap_watch deadline;
    EXPECT_THROW(run(given, opts(limit)), error);
    EXPECT_LE(deadline.peak(), least + taken_by_an_error);
    EXPECT_LE(deadline.live(), taken_by_an_error);
  };
  const bool harms = me == p - 1;
  out[0] = harms ? n + n / 2 : n;
  // On the fast path of a named call only the receiver knows.
  if (GetParam() != &detail::shared_memory) fail("sends more than is expected", least);
  out[0] = harms ? n / 2 : n;
  if (GetParam() != &detail::shared_memory) fail("sends less", least);
  out[0] = harms ? -1 : n;
  fail("has an invalid count", least);
  out[0] = n;
  fail("has less memory than is needed", harms ? least - 1 : least);
  std::ranges::fill(received, std::byte{9});
  run(given, opts(least));
  for (std::size_t peer = 0; peer < at(p); ++peer) EXPECT_EQ(received[(2 * peer + 1) * n - 1], std::byte{0});
}

// Blocks in random order need memory to be checked, which is free again when they are exchanged.
TEST(budget_of_a_call, that_taquin_chooses_the_algorithm_of_is_never_exceeded_by_what_it_reports) {
  std::vector<type_pair> types;
  for (const std::size_t t : {0U, 3U, 7U}) types.push_back(all_types[t].make());
  problem x{.kind = form::alltoallw, .p = size_of(MPI_COMM_WORLD), .counts = {}, .seed = 4, .types = &types};
  std::mt19937 random(3);
  x.counts = all_workloads[1].make(x.p, 44, random);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  const auto given = mine.given_to(MPI_COMM_WORLD);
  int served = 0;
  for (std::size_t limit = 0; limit < 4000; limit += 5) {
    statistics stats;
    mine.fill(1);
    try {
      run(given, {.memory = limit, .stats = &stats});
    } catch (const budget_exceeded&) {
      EXPECT_TRUE(mine.untouched());
      continue;
    }
    ++served;
    EXPECT_EQ(mine.wrong_bytes(), 0U) << "limit " << limit;
    EXPECT_LE(stats.peak_memory, limit);
  }
  EXPECT_GT(served, 0);
}

// On the fast path a call allocates no memory but for blocks; agreeing in full makes a plan, which needs more.
TEST(short_way, a_call_that_names_shared_memory_takes_no_more_than_one_that_names_nothing) {
  int p = 0;
  int me = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (p < 2) GTEST_SKIP() << "one rank has no other way to go";
  const auto n = static_cast<std::size_t>(p);
  const std::vector<count_t> counts(n, 10);
  std::vector<count_t> displs(n);
  for (std::size_t i = 0; i < n; ++i) displs[i] = static_cast<count_t>(i) * 10;
  const std::vector<int> sent(n * 10, me);
  const auto memory = [&](std::string_view algorithm) {
    statistics stats;
    for (int call = 0; call < 3; ++call) {  // the first makes what the communicator keeps
      std::vector<int> received(n * 10, -1);
      stats = {};
      alltoallv(sent.data(), counts.data(), displs.data(), MPI_INT, received.data(), counts.data(), displs.data(),
                MPI_INT, MPI_COMM_WORLD, {.algorithm = algorithm, .stats = &stats});
      for (std::size_t i = 0; i < received.size(); ++i) EXPECT_EQ(received[i], static_cast<int>(i / 10));
    }
    EXPECT_EQ(stats.algorithm, "shared_memory");
    return stats.peak_memory;
  };
  EXPECT_EQ(memory("shared_memory"), memory("auto"));
}

// The test of the test: requests by each of the possible functions are seen, and the MPI library's own are not.
TEST(heap_watch, sees_what_this_program_takes_and_not_what_the_mpi_library_does) {
  const auto seen = [](auto take, auto give_back) {
    const heap_watch deadline;
    auto* memory = take();
    asm volatile("" : : "r"(memory) : "memory");  // or the compiler leaves a pair of calls out
    const std::size_t live = deadline.live();
    give_back(memory);
    EXPECT_EQ(deadline.live(), 0U);
    EXPECT_EQ(deadline.peak(), live);
    return live;
  };
  // NOLINTBEGIN(cppcoreguidelines-no-malloc)
  EXPECT_EQ(seen([] { return std::malloc(1000); }, std::free), 1000U);
  EXPECT_EQ(seen([] { return std::calloc(10, 100); }, std::free), 1000U);
  EXPECT_EQ(seen([] { return std::realloc(nullptr, 1000); }, std::free), 1000U);
  EXPECT_EQ(seen([] { return std::aligned_alloc(64, 1024); }, std::free), 1024U);
  EXPECT_EQ(seen(
                [] {
                  void* memory = nullptr;
                  return posix_memalign(&memory, 4096, 1000) == 0 ? memory : nullptr;
                },
                std::free),
            1000U);
  // NOLINTEND(cppcoreguidelines-no-malloc)
  EXPECT_EQ(seen([] { return ::operator new(1000); }, [](void* m) { ::operator delete(m); }), 1000U);
  EXPECT_EQ(seen([] { return ::operator new (1024, std::align_val_t{256}); },
                 [](void* m) { ::operator delete (m, std::align_val_t{256}); }),
            1024U);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_EQ(seen([] { return mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
                 [](void* m) { munmap(m, 8192); }),
            8192U);
#endif
  const heap_watch deadline;
  const scoped_comm copy(duplicate(MPI_COMM_WORLD));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1000, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
  EXPECT_EQ(deadline.calls(), 0U);
}

INSTANTIATE_TEST_SUITE_P(list, budget, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

}  // namespace
}  // namespace taquin::test
