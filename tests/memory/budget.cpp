// The budget is the truth: exactly what an algorithm states is enough, and nothing is taken beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "plan/prepare.hpp"
#include "support/world.hpp"

namespace {

// What this program's C++ code has taken, the library included. The MPI libraries are C and do not come here.
thread_local std::size_t calls = 0;
thread_local std::size_t live = 0;
thread_local std::size_t peak = 0;

constexpr std::size_t default_alignment = alignof(std::max_align_t);

// The size stands right before the memory.
void* take(std::size_t bytes, std::size_t alignment = default_alignment) {
  const std::size_t front = std::max(alignment, default_alignment);
  auto* place = static_cast<std::byte*>(std::aligned_alloc(front, (bytes + 2 * front - 1) / front * front));
  if (place == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(place + front - sizeof(std::size_t)) = bytes;
  ++calls;
  live += bytes;
  peak = std::max(peak, live);
  return place + front;
}

void give_back(void* memory, std::size_t alignment = default_alignment) noexcept {
  if (memory == nullptr) return;
  auto* place = static_cast<std::byte*>(memory);
  live -= *reinterpret_cast<std::size_t*>(place - sizeof(std::size_t));
  std::free(place - std::max(alignment, default_alignment));
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void* operator new(std::size_t bytes, std::align_val_t a) { return take(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return take(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* memory, std::align_val_t a) noexcept { give_back(memory, static_cast<std::size_t>(a)); }
void operator delete[](void* memory, std::align_val_t a) noexcept { give_back(memory, static_cast<std::size_t>(a)); }
void operator delete(void* memory, std::size_t, std::align_val_t a) noexcept {
  give_back(memory, static_cast<std::size_t>(a));
}
void operator delete[](void* memory, std::size_t, std::align_val_t a) noexcept {
  give_back(memory, static_cast<std::size_t>(a));
}

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
          for (const count_t most : {3, 4000}) {
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
};

TEST_P(budget, the_stated_memory_is_enough_and_a_byte_less_is_not) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    const auto given = mine.given_to(MPI_COMM_WORLD);
    if (!plan_if_served(given, opts())) return;
    mine.fill(1);
    std::size_t needed = 0;
    // With no memory at all MPI_Alltoallw's types cannot be looked at: the first answer may be too low.
    for (int attempt = 0; attempt < 2; ++attempt) try {
        const plan enough(given, opts(needed));
        break;
      } catch (const budget_exceeded& e) {
        needed = e.requested();
      }
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
    EXPECT_LE(again.memory().peak(), needed);
  });
}

TEST_P(budget, all_memory_of_a_plan_is_counted) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    const auto given = mine.given_to(MPI_COMM_WORLD);
    if (!plan_if_served(given, opts())) return;  // which makes the communicator's own state as well
    mine.fill(1);
    const std::size_t before = live;
    peak = live;
    const plan p(given, opts());
    const std::size_t held = live - before;
    const std::size_t most = peak - before;
    // What is counted lies on the heap, or in the plan itself where it is small.
    EXPECT_LE(held, p.memory().used() + sizeof(detail::plan_state));
    EXPECT_LE(most, p.memory().peak() + sizeof(detail::plan_state));
  });
}

TEST_P(budget, a_started_plan_takes_nothing) {
  for_each_problem([&](const problem& x) {
    rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
    auto p = plan_if_served(mine.given_to(MPI_COMM_WORLD), opts());
    if (!p) return;
    for (int start = 0; start < 3; ++start) {
      mine.fill(start);
      const std::size_t before = calls;
      const std::size_t counted = p->memory().used();
      p->start();
      if (start == 1)
        while (!p->test()) {
        }
      p->wait();
      EXPECT_EQ(calls, before) << "start " << start;
      EXPECT_EQ(p->memory().used(), counted);
      EXPECT_EQ(mine.wrong_bytes(), 0U);
    }
  });
}

// While it measures, too; it only gives back what lost.
TEST(tuned_budget, a_started_plan_takes_nothing) {
  std::vector<type_pair> types;
  types.push_back(all_types[0].make());
  std::mt19937 random(3);
  const int ranks = size_of(MPI_COMM_WORLD);
  const problem x{
      .kind = form::alltoallv, .p = ranks, .counts = all_workloads[1].make(ranks, 4000, random), .types = &types};
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  plan p(mine.given_to(MPI_COMM_WORLD), {.tune = true});
  for (int start = 0; start < 14; ++start) {
    mine.fill(start);
    const std::size_t before = calls;
    p.start();
    p.wait();
    EXPECT_EQ(calls, before) << "start " << start;
    EXPECT_EQ(mine.wrong_bytes(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(list, budget, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

}  // namespace
}  // namespace taquin::test
