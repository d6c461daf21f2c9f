// Migrations: the order of what arrives, and the memory that is promised.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "redistribute/refusal.hpp"
#include "support/heap_watch.hpp"
#include "taquin/error.hpp"
#include "taquin/migrate.hpp"
#include "taquin/migrate_arrays.hpp"
#include "taquin/shared_buffer.hpp"

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
    const auto attempt = [&](std::size_t memory) {
      std::vector<numbered<Bytes>> items;
      items.reserve(2 * n + 64);
      for (std::size_t k = 0; k < n; ++k) append_element(items, ranks, rank, k);
      const test::heap_watch deadline;
      migrate(items, [](const auto& e) { return static_cast<int>(e[0]); }, MPI_COMM_WORLD,
              {.memory = memory, .once = once});
      EXPECT_LE(test::heap_watch::peak(), memory) << Bytes << " bytes, " << n;
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
    try {
      attempt(1);
      FAIL() << "1 byte is enough";
    } catch (const budget_exceeded& e) {
      least = e.requested();
      EXPECT_NE(std::string(e.what()).find("needs at least " + std::to_string(least)), std::string::npos) << e.what();
    }
    EXPECT_LE(least, promised_to_migrate(ranks, once ? n : 0, n, Bytes)) << n;
    EXPECT_THROW(attempt(least - 1), budget_exceeded);
    for (const std::size_t memory : {least, least + 1, least + least / 4, 2 * least, 10 * least}) attempt(memory);
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
  const auto room = static_cast<std::size_t>(n * ranks);
  for (int run = 0; run < 4; ++run) {  // memory is mapped from the third use on
    shared_buffer<std::int64_t> a(room);
    std::vector<std::int16_t> b(room);
    shared_buffer<std::int32_t> c(room);
    for (int k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      c[at] = rank * 100000 + k;
      a[at] = 3 * std::int64_t{c[at]};
      b[at] = static_cast<std::int16_t>(k);
    }
    const auto everywhere = [&](std::size_t k) { return static_cast<int>(k % static_cast<std::size_t>(ranks)); };
    const std::size_t arrived =
        migrate(everywhere, n, MPI_COMM_WORLD, {}, std::span(a.data(), room), std::span(b), std::span(c.data(), room));
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
  const auto room = static_cast<std::size_t>(n * ranks);
  std::vector<std::int32_t> even(room * 2, -1);
  std::vector<std::int64_t> x(room);
  std::vector<std::int16_t> y(room);
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
    const std::size_t arrived = m.plan(nullptr, room, std::nullopt);
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
