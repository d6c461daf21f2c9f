// Which way sparse exchanges find sources by, for all ranks in one process: all come to the same.
#include "algorithms/sparse/choice.hpp"

#include <gtest/gtest.h>

namespace taquin::detail {
namespace {

TEST(sparse_choice, takes_no_way_that_lets_more_messages_wait_than_are_allowed) {
  for (const int p : {1, 2, 3, 16, 33, 34, 1000, 1 << 20})
    for (const std::uint64_t blocks : {0U, 1U, 4U, 1000U, 1000000U})
      for (const std::size_t in_flight : {1U, 4U, 32U}) {
        const sparse_shape s{p, blocks, in_flight};
        const auto [first, second] = best_sparse(s);
        ASSERT_NE(first, nullptr);
        for (const auto* a : {first, second}) {
          if (a == nullptr) continue;
          EXPECT_TRUE(a->suits(s)) << a->name;
          EXPECT_TRUE(a->most_ranks == nullptr || static_cast<std::size_t>(p) <= in_flight + 1) << a->name << p;
        }
        EXPECT_NE(first, second);
        if (second != nullptr) {
          EXPECT_LE(first->nanoseconds(s), second->nanoseconds(s));
        }
      }
}

TEST(sparse_choice, little_memory_leaves_what_needs_least) {
  const sparse_shape s{1000, 4, 32, 4 * notify_tree.memory(1000, 32, 64)};
  EXPECT_EQ(best_sparse(s).first->name, notify_tree.name);
  EXPECT_NE(best_sparse({1000, 4, 32, 1}).first, nullptr) << "which tells what it needs";
}

TEST(sparse_choice, contests_measure_both_and_stay_with_the_faster) {
  sparse_choices c;
  const sparse_shape s{16, 4, 32};
  const auto [first, second] = best_sparse(s);
  ASSERT_NE(second, nullptr);
  for (int call = 0; call < 8; ++call) {
    const auto* const now = c.choose(s);
    EXPECT_EQ(now, call < 4 ? first : second) << call;
    c.took(now == second ? 1000U : 2000U);
    c.learn(c.tell());
  }
  for (int call = 0; call < 8; ++call) {
    EXPECT_EQ(c.choose(s), second);
    c.learn(5000);
  }
  const sparse_shape many{16, 100000, 32};
  EXPECT_EQ(c.choose(many), best_sparse(many).first) << "of another kind nothing is known";
}

TEST(sparse_choice, what_a_profile_knows_is_not_measured) {
  sparse_choices c;
  const sparse_shape s{16, 4, 32};
  for (int call = 0; call < 12; ++call) {
    EXPECT_EQ(c.choose(s, &notify_nbx), &notify_nbx) << call;
    c.took(1000000);
    c.learn(c.tell());
  }
  sparse_choices other;
  const sparse_shape many_ranks{64, 4, 32};
  EXPECT_EQ(other.choose(many_ranks, &notify_nbx), best_sparse(many_ranks).first) << "which it does not serve";
}

}  // namespace
}  // namespace taquin::detail
