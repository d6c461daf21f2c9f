// Migrations: the order of what arrives, and the memory that is promised.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "redistribute/refusal.hpp"
#include "support/heap_watch.hpp"
#include "taquin/error.hpp"
#include "taquin/migrate.hpp"

namespace taquin {
namespace {

using test::promised;
using test::refusal;

TEST_F(refusal, migration_orders_by_source_and_then_position) {
  struct item {
    int from, number, extra;
  };
  std::vector<item> items;
  const int n = 20 + 5 * rank;
  for (int i = 0; i < n; ++i) items.push_back({rank, i, rank ^ i});
  migrate(
      items, [&](const item& e) { return (e.number * e.number + e.from) % ranks; }, MPI_COMM_WORLD);
  std::size_t at = 0;
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < 20 + 5 * r; ++i) {
      if ((i * i + r) % ranks != rank) continue;
      ASSERT_LT(at, items.size());
      ASSERT_EQ(items[at].from, r);
      ASSERT_EQ(items[at].number, i);
      ASSERT_EQ(items[at++].extra, r ^ i);
    }
  EXPECT_EQ(at, items.size());
  std::vector<int> one(1, 0);
  EXPECT_THROW(migrate(one, std::vector<int>{0, 0}, MPI_COMM_WORLD), usage_error);
  EXPECT_THROW(migrate(one, std::vector<int>{rank == 0 ? ranks : 0}, MPI_COMM_WORLD), usage_error);
}

// Elements large enough that a second copy of them would be seen beside everything else.
struct large {
  int from, number;
  std::array<char, 2040> rest;
};

class migration_memory : public refusal {
 protected:
  static constexpr int n = 400;

  migration_memory() {
    for (int i = 0; i < n; ++i) elements.push_back({rank, i, {}});
  }
  // Everything to its place but the storage of the vector itself.
  [[nodiscard]] std::size_t extra(std::size_t most) const {
    return promised("slots", static_cast<std::size_t>(ranks), most, sizeof(large)) + 8 * most;
  }
  void expect_all_on_rank_0() const {
    ASSERT_EQ(elements.size(), static_cast<std::size_t>(rank == 0 ? n * ranks : 0));
    for (std::size_t k = 0; k < elements.size(); ++k) {
      ASSERT_EQ(elements[k].from, static_cast<int>(k) / n);
      ASSERT_EQ(elements[k].number, static_cast<int>(k) % n);
    }
  }

  std::vector<large> elements;
};

TEST_F(migration_memory, there_is_no_second_copy_where_the_capacity_is_enough) {
  const auto to_rank_0 = [](const large&) { return 0; };
  elements.reserve(static_cast<std::size_t>(n * ranks));
  const test::heap_watch watch;
  migrate(elements, to_rank_0, MPI_COMM_WORLD);
  const std::size_t peak = test::heap_watch::peak();
  EXPECT_LE(peak, extra(static_cast<std::size_t>(n * ranks)));
  EXPECT_LT(peak, n * sizeof(large));
  expect_all_on_rank_0();
}

TEST_F(migration_memory, a_vector_that_grows_takes_its_new_storage_exactly) {
  elements.shrink_to_fit();
  statistics stats;
  const test::heap_watch watch;
  migrate(elements, [](const large&) { return 0; }, MPI_COMM_WORLD, {.stats = &stats});
  const std::size_t storage = rank == 0 && ranks > 1 ? static_cast<std::size_t>(n * ranks) * sizeof(large) : 0;
  EXPECT_LE(test::heap_watch::peak(), storage + extra(static_cast<std::size_t>(n * ranks)));
  if (rank == 0 && ranks > 1) {
    EXPECT_EQ(elements.capacity(), static_cast<std::size_t>(n * ranks));
    EXPECT_GE(stats.peak_memory, n * sizeof(large)) << "its old storage counts";
  }
  expect_all_on_rank_0();
}

TEST_F(migration_memory, a_limit_that_growth_does_not_fit_is_kept_on_every_rank) {
  elements.shrink_to_fit();
  const auto to_rank_0 = [](const large&) { return 0; };
  const std::size_t limit = extra(static_cast<std::size_t>(n * ranks));
  if (ranks > 1) {
    EXPECT_THROW(migrate(elements, to_rank_0, MPI_COMM_WORLD, {.memory = limit}), budget_exceeded);
    ASSERT_EQ(elements.size(), static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) ASSERT_EQ(elements[static_cast<std::size_t>(i)].number, i);
  }
  elements.reserve(static_cast<std::size_t>(n * ranks));
  migrate(elements, to_rank_0, MPI_COMM_WORLD, {.memory = limit});
  expect_all_on_rank_0();
}

// Ranks have different numbers of elements and need different amounts; the error has that of the rank that needs most.
TEST_F(migration_memory, a_limit_is_refused_with_more_than_it_on_every_rank) {
  std::vector<int> uneven(static_cast<std::size_t>(rank) * 37, rank);
  std::size_t limit = 0;
  for (int tried = 0; tried < 20; ++tried) try {
      auto some = uneven;
      migrate(some, [this](int) { return rank == ranks - 1 ? 0 : rank + 1; }, MPI_COMM_WORLD, {.memory = limit});
      return;
    } catch (const budget_exceeded& e) {
      ASSERT_TRUE(e.collective());
      const std::size_t needed = e.requested() + e.used();
      EXPECT_GT(needed, limit) << e.what();
      MPI_Allreduce(&needed, &limit, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    }
  FAIL() << "no limit serves";
}

TEST_F(migration_memory, storage_of_the_callers_own_never_moves) {
  const auto to_rank_0 = [](const large&) { return 0; };
  const auto kept = elements;
  if (ranks > 1) {
    EXPECT_THROW(migrate(std::span(elements), n, to_rank_0, MPI_COMM_WORLD), usage_error);
  }
  EXPECT_THROW(migrate(std::span(elements), n + 1, to_rank_0, MPI_COMM_WORLD), usage_error);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(elements[i].number, kept[i].number);
  std::vector<large> storage(static_cast<std::size_t>(n * ranks));
  std::ranges::copy(elements, storage.begin());
  const test::heap_watch watch;
  const std::size_t arrived = migrate(std::span(storage), n, to_rank_0, MPI_COMM_WORLD);
  EXPECT_LE(test::heap_watch::peak(), extra(static_cast<std::size_t>(n * ranks)));
  EXPECT_EQ(arrived, static_cast<std::size_t>(rank == 0 ? n * ranks : 0));
  storage.resize(arrived);
  elements = storage;
  expect_all_on_rank_0();
}

}  // namespace
}  // namespace taquin
