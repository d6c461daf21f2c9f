// Coroutines of protocols: they wait inside each other, hand on what is thrown, and take their frames from the budget.
#include "protocol/task.hpp"

#include <gtest/gtest.h>

#include <coroutine>
#include <memory_resource>
#include <stdexcept>

#include "base/memory_budget.hpp"

namespace taquin::test {
namespace {

using detail::memory_budget;
using detail::task;

/// The objects that the tasks use: memory, a place to wait, and their results.
struct bench {
  std::pmr::memory_resource* memory;
  std::coroutine_handle<> waiting = nullptr;
  int done = 0;

  auto pause() {
    struct awaiter {
      bench* b;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) noexcept { b->waiting = h; }
      void await_resume() noexcept {}
    };
    return awaiter{this};
  }
};

task inner(bench& b, bool throws) {
  ++b.done;
  co_await b.pause();
  ++b.done;
  if (throws) throw std::runtime_error("inner");
}

task outer(bench& b, bool throws) {
  co_await inner(b, throws);
  ++b.done;
}

TEST(a_task, begins_when_it_is_started_and_goes_on_where_it_waits) {
  memory_budget budget;
  bench b{&budget};
  task t = outer(b, false);
  EXPECT_EQ(b.done, 0);
  t.start();
  EXPECT_EQ(b.done, 1);
  EXPECT_FALSE(t.done());
  b.waiting.resume();
  EXPECT_EQ(b.done, 3);
  EXPECT_TRUE(t.done());
  EXPECT_NO_THROW(t.check());
}

TEST(a_task, hands_on_what_an_inner_one_throws) {
  memory_budget budget;
  bench b{&budget};
  task t = outer(b, true);
  t.start();
  b.waiting.resume();
  EXPECT_TRUE(t.done());
  EXPECT_EQ(b.done, 2);
  EXPECT_THROW(t.check(), std::runtime_error);
}

TEST(a_task, gives_its_memory_back_where_it_is_left_in_the_middle) {
  memory_budget budget;
  bench b{&budget};
  {
    task t = outer(b, false);
    t.start();
    EXPECT_GT(budget.used(), 0U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(a_task, is_refused_where_the_budget_has_no_room_for_its_frame) {
  memory_budget budget(16);
  bench b{&budget};
  EXPECT_THROW(static_cast<void>(outer(b, false)), budget_exceeded);
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace taquin::test
