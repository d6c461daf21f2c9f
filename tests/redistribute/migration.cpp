// Migrations: the order of what arrives, and the memory that is promised.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "redistribute/refusal.hpp"
#include "support/heap_watch.hpp"
#include "support/named_memory.hpp"
#include "taquin/error.hpp"
#include "taquin/migrate.hpp"

namespace taquin {
namespace {

using test::refusal;

// Bytes that a migration needs, on a rank of p with m elements of l bytes before, as the documentation states them.
std::size_t promised_to_migrate(int ranks, std::size_t kept, std::size_t m, std::size_t l) {
  const auto p = static_cast<std::size_t>(ranks);
  return 4608 + 300 * p + std::min<std::size_t>(l, 4096) + std::max(4 * kept, std::min<std::size_t>(m * l, 16384));
}

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
    return promised_to_migrate(ranks, most, most, sizeof(large)) +
           std::max<std::size_t>(most * sizeof(large) / 100, 65536);
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
  const test::heap_watch deadline;
  migrate(elements, to_rank_0, MPI_COMM_WORLD);
  const std::size_t peak = test::heap_watch::peak();
  EXPECT_LE(peak, extra(static_cast<std::size_t>(n * ranks)));
  EXPECT_LT(peak, n * sizeof(large));
  expect_all_on_rank_0();
}

TEST_F(migration_memory, a_vector_that_grows_takes_its_new_storage_exactly) {
  elements.shrink_to_fit();
  statistics stats;
  const test::heap_watch deadline;
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

// An element: its destination, and then bytes that say which one it is.
template <std::size_t Bytes>
using numbered = std::array<unsigned char, Bytes>;

// Appended in place: large elements would fill the stack.
template <std::size_t Bytes>
void append_element(std::vector<numbered<Bytes>>& items, int ranks, int from, std::size_t k) {
  auto& e = items.emplace_back();
  for (std::size_t i = 1; i < Bytes; ++i)
    e[i] = static_cast<unsigned char>(k * 37 + static_cast<std::size_t>(from) + i);
  e[0] = static_cast<unsigned char>((k * 7 + k / 5 + static_cast<std::size_t>(from)) % static_cast<std::size_t>(ranks));
}

// "At least N" is exact: with N it works, with N − 1 it does not; and from there on nothing beyond the limit is taken.
template <std::size_t Bytes>
void expect_exact_limit(int ranks, int rank, std::size_t n) {
  for (const bool once : {true, false}) {
    const auto attempt = [&](std::size_t memory, std::size_t peak) {
      std::vector<numbered<Bytes>> items;
      items.reserve(2 * n + 64);
      for (std::size_t k = 0; k < n; ++k) append_element(items, ranks, rank, k);
      const test::heap_watch deadline;
      migrate(items, [](const auto& e) { return static_cast<int>(e[0]); }, MPI_COMM_WORLD,
              {.memory = memory, .once = once});
      EXPECT_LE(test::heap_watch::peak(), peak) << Bytes << " bytes, " << n;
      std::size_t at = 0;
      for (int r = 0; r < ranks; ++r) {
        std::vector<numbered<Bytes>> expected;
        for (std::size_t k = 0; k < n; ++k) {
          append_element(expected, ranks, r, k);
          if (expected.back()[0] != rank) expected.pop_back();
        }
        ASSERT_LE(at + expected.size(), items.size());
        const auto part = std::span(items).subspan(at, expected.size());
        if (!once) {  // the order of one source is not promised
          std::ranges::sort(part);
          std::ranges::sort(expected);
        }
        ASSERT_TRUE(std::ranges::equal(part, expected)) << Bytes << " bytes, " << n << ", from " << r;
        at += expected.size();
      }
      ASSERT_EQ(at, items.size());
    };
    std::size_t least = 0;
    std::size_t usual = 0;
    try {
      attempt(1, 1);
      FAIL() << "1 byte is enough";
    } catch (const budget_exceeded& e) {
      const test::named_memory named(e);
      least = named.least;
      usual = named.usual;
    }
    EXPECT_GT(usual, least) << n;
    attempt(unlimited, usual);
    EXPECT_LE(least, promised_to_migrate(ranks, once ? n : 0, n, Bytes)) << n;
    EXPECT_THROW(attempt(least - 1, least - 1), budget_exceeded);
    for (const std::size_t memory : {least, least + 1, least + least / 4, 2 * least, 10 * least, usual})
      attempt(memory, memory);
  }
}

TEST_F(migration_memory, is_exactly_what_the_error_names) {
  expect_exact_limit<1>(ranks, rank, 30000);
  expect_exact_limit<8>(ranks, rank, 20000);
  expect_exact_limit<17>(ranks, rank, 100);
  expect_exact_limit<56>(ranks, rank, 10000);
  expect_exact_limit<4096>(ranks, rank, 200);
  expect_exact_limit<1 << 20>(ranks, rank, 3);
  expect_exact_limit<24>(ranks, rank, 0);
}

TEST_F(migration_memory, many_small_elements_go_through_a_small_part_of_theirs) {
  struct particle {
    std::array<double, 7> values;
  };
  constexpr int many = 20000;
  std::vector<particle> all;
  all.reserve(many * 2 + 1000);
  for (int k = 0; k < many; ++k) all.push_back({{double(k), double((k * 37 + rank) % ranks), double(rank)}});
  statistics done;
  migrate(all, [](const particle& e) { return static_cast<int>(e.values[1]); }, MPI_COMM_WORLD,
          {.memory = 24 << 10, .stats = &done, .once = false});
  EXPECT_LE(done.peak_memory, 24U << 10);
  std::vector<std::vector<bool>> seen(static_cast<std::size_t>(ranks), std::vector<bool>(many));
  std::size_t expected = 0;
  for (int r = 0; r < ranks; ++r)
    for (int k = 0; k < many; ++k) expected += (k * 37 + r) % ranks == rank ? 1 : 0;
  ASSERT_EQ(all.size(), expected);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto& v = all[k].values;
    ASSERT_EQ(static_cast<int>(v[1]), rank);
    auto seen_one = seen[static_cast<std::size_t>(v[2])][static_cast<std::size_t>(v[0])];
    ASSERT_FALSE(seen_one);
    seen_one = true;
    if (k > 0) {
      ASSERT_LE(all[k - 1].values[2], v[2]) << "by source";
    }
  }
}

TEST_F(refusal, a_function_that_changes_its_mind_is_an_error_on_every_rank) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  int calls = 0;
  const auto fickle = [&](int) { return ++calls > 100 && rank == 0 ? (calls + 1) % ranks : calls % ranks; };
  if (ranks > 1) {
    EXPECT_THROW(
        migrate(items, [&](int) { return rank == 0 && ++calls > 100 ? ranks : 0; }, MPI_COMM_WORLD, {.once = false}),
        usage_error);
    calls = 0;
    try {
      auto some = items;
      migrate(some, fickle, MPI_COMM_WORLD, {.once = false});
    } catch (const usage_error&) {
    }
  }
  std::ranges::sort(items);
  for (int k = 0; k < 100; ++k) ASSERT_EQ(items[static_cast<std::size_t>(k)], k);
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
  const test::heap_watch deadline;
  const std::size_t arrived = migrate(std::span(storage), n, to_rank_0, MPI_COMM_WORLD);
  EXPECT_LE(test::heap_watch::peak(), extra(static_cast<std::size_t>(n * ranks)));
  EXPECT_EQ(arrived, static_cast<std::size_t>(rank == 0 ? n * ranks : 0));
  storage.resize(arrived);
  elements = storage;
  expect_all_on_rank_0();
}

TEST_F(refusal, items_whose_data_overlap_are_refused_on_every_rank) {
  MPI_Datatype narrow = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 4, &narrow);
  MPI_Type_commit(&narrow);
  std::vector<double> items(10, rank);
  EXPECT_THROW(migrate(items, std::vector<int>(10, 0), MPI_COMM_WORLD, {}, rank == 0 ? narrow : MPI_DOUBLE),
               usage_error);
  EXPECT_EQ(items, std::vector<double>(10, rank));
  MPI_Type_free(&narrow);
}

}  // namespace
}  // namespace taquin
