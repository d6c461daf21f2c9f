// Migrations of several arrays whose items with one index belong together.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "redistribute/refusal.hpp"
#include "taquin/error.hpp"
#include "taquin/migrate.hpp"
#include "taquin/migrate_arrays.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin {
namespace {

using test::refusal;

TEST_F(refusal, several_arrays_migrate_as_one) {
  using name = std::array<char, 5>;
  constexpr int n = 1000;
  std::vector<double> x;
  std::vector<std::array<float, 3>> v;
  std::pmr::vector<name> names;
  for (int k = 0; k < n; ++k) {
    x.push_back(rank * n + k);
    v.push_back({float(k), float(rank), 1});
    names.push_back({static_cast<char>(k % 100), static_cast<char>(rank)});
  }
  statistics done;
  const auto owner = [&](std::size_t k) { return static_cast<int>((k * k + 3) % static_cast<std::size_t>(ranks)); };
  migrate(owner, MPI_COMM_WORLD, {.stats = &done}, x, v, names);
  std::size_t at = 0;
  for (int r = 0; r < ranks; ++r)
    for (int k = 0; k < n; ++k) {
      if (owner(static_cast<std::size_t>(k)) != rank) continue;
      ASSERT_LT(at, x.size());
      ASSERT_EQ(x[at], r * n + k);
      ASSERT_EQ(v[at], (std::array<float, 3>{float(k), float(r), 1}));
      ASSERT_EQ(names[at], (name{static_cast<char>(k % 100), static_cast<char>(r)}));
      ++at;
    }
  EXPECT_EQ(x.size(), at);
  EXPECT_EQ(v.size(), at);
  EXPECT_EQ(names.size(), at);
  EXPECT_LE(done.peak_memory, std::max<std::size_t>(4 * n, 65536) + 8192 + 300 * static_cast<std::size_t>(ranks));
  const auto kept = v;
  x.push_back(1);
  EXPECT_THROW(migrate(owner, MPI_COMM_WORLD, v, x), usage_error) << "of different lengths";
  EXPECT_EQ(v, kept);
  migrate(std::vector<int>(v.size(), ranks - 1), MPI_COMM_WORLD, v, names);
  EXPECT_EQ(v.size(), rank == ranks - 1 ? n * static_cast<std::size_t>(ranks) : 0);
}

// Item k of rank r has this number in every array.
struct numbered_items {
  std::vector<std::int64_t> a;
  std::vector<std::int32_t> b;
  std::vector<char> c;
  std::vector<std::array<std::int16_t, 5>> d;

  numbered_items(int n, int rank) {
    for (int k = 0; k < n; ++k) {
      const int number = rank * 100000 + k;
      a.push_back(number);
      b.push_back(number);
      c.push_back(static_cast<char>(number % 127));
      d.push_back({static_cast<std::int16_t>(number % 32749), 1, 2, 3, static_cast<std::int16_t>(number % 32719)});
    }
  }
  // Whether item `at` has this number.
  [[nodiscard]] bool has(std::size_t at, int number) const {
    return a[at] == number && b[at] == number && c[at] == static_cast<char>(number % 127) &&
           d[at][0] == number % 32749 && d[at][3] == 3 && d[at][4] == number % 32719;
  }
};

class several_arrays : public refusal {
 protected:
  static constexpr int n = 4000;
  static int owner(std::size_t k, int ranks) {
    return static_cast<int>((k * k + k / 7) % static_cast<std::size_t>(ranks));
  }
  void expect_moved(const numbered_items& all) const {
    std::size_t at = 0;
    for (int r = 0; r < ranks; ++r)
      for (int k = 0; k < n; ++k) {
        if (owner(static_cast<std::size_t>(k), ranks) != rank) continue;
        ASSERT_LT(at, all.a.size());
        ASSERT_TRUE(all.has(at, r * 100000 + k)) << at;
        ++at;
      }
    EXPECT_EQ(all.a.size(), at);
    EXPECT_EQ(all.d.size(), at);
  }
  [[nodiscard]] statistics move(numbered_items& all, std::size_t memory = unlimited) const {
    statistics done;
    migrate([&](std::size_t k) { return owner(k, ranks); }, MPI_COMM_WORLD, {.memory = memory, .stats = &done}, all.a,
            all.b, all.c, all.d);
    return done;
  }
};

// A message has the chunks of all arrays, and a swap all of its units.
TEST_F(several_arrays, move_through_one_exchange) {
  numbered_items all(n, rank);
  const statistics together = move(all);
  expect_moved(all);
  std::vector<std::array<std::byte, 23>> whole(n);
  statistics one;
  migrate([&](std::size_t k) { return owner(k, ranks); }, MPI_COMM_WORLD, {.stats = &one}, whole);
  EXPECT_LE(together.messages, 2 * one.messages);
}

// One of the arrays is where ranks of the node map it.
TEST_F(several_arrays, move_between_shared_and_private_memory) {
  const auto capacity = static_cast<std::size_t>(n * ranks);
  for (int run = 0; run < 4; ++run) {  // memory is mapped from the third use on
    shared_buffer<std::int64_t> a(capacity);
    std::vector<std::int16_t> b(capacity);
    shared_buffer<std::int32_t> c(capacity);
    for (int k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      c[at] = rank * 100000 + k;
      a[at] = 3 * std::int64_t{c[at]};
      b[at] = static_cast<std::int16_t>(k);
    }
    const auto everywhere = [&](std::size_t k) { return static_cast<int>(k % static_cast<std::size_t>(ranks)); };
    const std::size_t arrived = migrate(everywhere, n, MPI_COMM_WORLD, {}, std::span(a.data(), capacity), std::span(b),
                                        std::span(c.data(), capacity));
    for (std::size_t k = 0; k < arrived; ++k) {
      ASSERT_EQ(c[k] % 100000, b[k]) << k;
      ASSERT_EQ(a[k], 3 * std::int64_t{c[k]}) << k;
      ASSERT_EQ(b[k] % ranks, rank);
    }
  }
}

// From the least on: with little each array moves by itself.
TEST_F(several_arrays, move_within_any_limit) {
  std::size_t limit = 0;
  for (bool moved = false; !moved;) try {
      numbered_items all(n, rank);
      const statistics done = move(all, limit);
      EXPECT_LE(done.peak_memory, limit);
      expect_moved(all);
      moved = true;
    } catch (const budget_exceeded& e) {
      const std::size_t needed = e.requested() + e.used();
      ASSERT_GT(needed, limit);
      limit = needed;
    }
  for (const std::size_t more : {0, 2000, 4000, 8000, 16000, 100000}) {
    numbered_items all(n, rank);
    const statistics done = move(all, limit + more);
    EXPECT_LE(done.peak_memory, limit + more);
    expect_moved(all);
  }
}

// Items of no bytes, and a type with gaps on one rank only: what has gaps moves element by element.
TEST_F(several_arrays, move_with_arrays_of_other_kinds) {
  MPI_Datatype gapped = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 8, &gapped);
  MPI_Type_commit(&gapped);
  const int parity = rank % 2;
  const auto capacity = static_cast<std::size_t>(n * ranks);
  std::vector<std::int32_t> even(capacity * 2, -1);
  std::vector<std::int64_t> x(capacity);
  std::vector<std::int16_t> y(capacity);
  for (std::size_t k = 0; k < n; ++k) {
    even[parity == 0 ? 2 * k : k] = rank * 100000 + static_cast<int>(k);
    x[k] = rank * 100000 + static_cast<int>(k);
    y[k] = static_cast<std::int16_t>(k);
  }
  for (const bool gaps : {false, true}) {
    const MPI_Datatype type = gaps && parity == 0 ? gapped : MPI_INT;
    auto z = even;
    if (!gaps && parity == 0)
      for (std::size_t k = 0; k < n; ++k) z[k] = even[2 * k];
    auto longs = x;
    auto shorts = y;
    const std::array types{detail::migrated_array{1, MPI_INT64_T}, detail::migrated_array{0, MPI_INT},
                           detail::migrated_array{1, MPI_INT16_T}, detail::migrated_array{1, type}};
    detail::migration m(n, types, true, MPI_COMM_WORLD, {});
    for (std::size_t k = 0; k < n; ++k) m.destinations()[k] = owner(k, ranks);
    const std::size_t arrived = m.plan(nullptr, capacity, std::nullopt);
    m.ready(nullptr, MPI_SUCCESS);
    const std::array<void*, 4> places{longs.data(), nullptr, shorts.data(), z.data()};
    m.run(places);
    for (std::size_t k = 0; k < arrived; ++k) {
      ASSERT_EQ(longs[k] % 100000, shorts[k]);
      ASSERT_EQ(z[gaps && parity == 0 ? 2 * k : k], longs[k]);
      ASSERT_EQ(owner(static_cast<std::size_t>(shorts[k]), ranks), rank);
    }
  }
  MPI_Type_free(&gapped);
}

// More arrays than one exchange serves.
TEST_F(several_arrays, may_be_many) {
  constexpr std::size_t many = 37;
  std::vector<std::vector<std::int32_t>> arrays(many, std::vector<std::int32_t>(static_cast<std::size_t>(n * ranks)));
  std::vector<detail::migrated_array> types(many, {1, MPI_INT32_T});
  std::vector<void*> places;
  for (std::size_t a = 0; a < many; ++a) {
    for (int k = 0; k < n; ++k) arrays[a][static_cast<std::size_t>(k)] = rank * 100000 + k + 7 * static_cast<int>(a);
    places.push_back(arrays[a].data());
  }
  detail::migration m(n, types, true, MPI_COMM_WORLD, {});
  for (std::size_t k = 0; k < n; ++k) m.destinations()[k] = owner(k, ranks);
  const std::size_t arrived = m.plan(nullptr, static_cast<std::size_t>(n * ranks), std::nullopt);
  m.ready(nullptr, MPI_SUCCESS);
  m.run(places);
  std::size_t at = 0;
  for (int r = 0; r < ranks; ++r)
    for (int k = 0; k < n; ++k) {
      if (owner(static_cast<std::size_t>(k), ranks) != rank) continue;
      for (std::size_t a = 0; a < many; ++a)
        ASSERT_EQ(arrays[a][at], r * 100000 + k + 7 * static_cast<int>(a)) << a << " at " << at;
      ++at;
    }
  EXPECT_EQ(at, arrived);
}

TEST_F(refusal, several_arrays_migrate_in_storage_of_the_callers_own) {
  constexpr std::size_t n = 50;
  std::vector<int> number(n * static_cast<std::size_t>(ranks));
  std::vector<std::array<double, 3>> x(number.size() + 3);
  for (std::size_t k = 0; k < n; ++k) {
    number[k] = rank * 100 + static_cast<int>(k);
    x[k] = {number[k] + 0.25, 0, number[k] + 0.5};
  }
  const auto to_rank_0 = [](std::size_t) { return 0; };
  if (ranks > 1) {
    EXPECT_THROW(migrate(to_rank_0, n, MPI_COMM_WORLD, {}, std::span(number), std::span(x).first(n)), usage_error);
  }
  const std::size_t more = rank == ranks - 1 ? x.size() : n;
  EXPECT_THROW(migrate(to_rank_0, more, MPI_COMM_WORLD, {}, std::span(x), std::span(number)), usage_error);
  EXPECT_EQ(number[n - 1], rank * 100 + 49) << "kept";
  const std::size_t arrived = migrate(to_rank_0, n, MPI_COMM_WORLD, {}, std::span(number), std::span(x));
  ASSERT_EQ(arrived, rank == 0 ? number.size() : 0);
  for (std::size_t k = 0; k < arrived; ++k) {
    ASSERT_EQ(number[k], static_cast<int>(k / n * 100 + k % n));
    ASSERT_EQ(x[k][0], number[k] + 0.25);
    ASSERT_EQ(x[k][2], number[k] + 0.5);
  }
}

}  // namespace
}  // namespace taquin
