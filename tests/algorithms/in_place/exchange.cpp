#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/in_place_problems.hpp"
#include "support/heap_watch.hpp"
#include "support/named_memory.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using detail::in_place_buffers;
using detail::in_place_problem;
using detail::peer_block;

struct arguments {
  std::vector<count_t> scounts, sdispls, rcounts, rdispls;
  arguments(const in_place_problem& p, int rank) {
    const auto n = static_cast<std::size_t>(p.ranks);
    scounts.resize(n), sdispls.resize(n), rcounts.resize(n), rdispls.resize(n);
    const auto r = static_cast<std::size_t>(rank);
    for (const peer_block& b : p.out[r])
      scounts[static_cast<std::size_t>(b.peer)] = b.length, sdispls[static_cast<std::size_t>(b.peer)] = b.at;
    for (const peer_block& b : p.in[r])
      rcounts[static_cast<std::size_t>(b.peer)] = b.length, rdispls[static_cast<std::size_t>(b.peer)] = b.at;
  }
};

int rank_of() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int ranks() {
  int p = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  return p;
}

in_place_problem random_problem(int p, count_t most, unsigned seed, const detail::layout_style& style) {
  std::mt19937 random(seed);
  std::vector<std::vector<count_t>> counts(static_cast<std::size_t>(p),
                                           std::vector<count_t>(static_cast<std::size_t>(p)));
  for (auto& row : counts)
    for (auto& c : row) c = random() % 3 == 0 ? 0 : static_cast<count_t>(random() % static_cast<unsigned>(most + 1));
  return make_problem(counts, style, seed);
}

// Both algorithms, and the variants of in_place_phases.
void choose_algorithm(options& o, unsigned i) {
  o.algorithm = i % 2 == 0 ? "in_place" : "in_place_phases";
  o.in_place_phases.aux_heap = i % 4 == 1;
  o.in_place_phases.sparse_requests = i % 8 >= 4;
  o.in_place_phases.aux_parts = static_cast<int>(i % 3);
  o.in_place.scratch_sends = i % 5 < 2;
}

// The content of the rank's buffer afterwards.
std::vector<std::byte> expected(const in_place_problem& p, const in_place_buffers& buffers, const options& o,
                                const element& unit, const std::vector<std::byte>& work) {
  const auto rank = static_cast<std::size_t>(rank_of());
  std::vector<std::byte> bytes = buffers.expected[rank];
  if (o.in_place.scratch_sends) forget_sent(p, rank, unit, work, bytes);
  return bytes;
}

void exchange_in(std::vector<std::byte>& buffer, const arguments& a, MPI_Datatype type, const options& o) {
  alltoallv_in_place(buffer.data(), a.scounts.data(), a.sdispls.data(), a.rcounts.data(), a.rdispls.data(), type,
                     MPI_COMM_WORLD, o);
}

TEST(in_place_exchange, random_problems_with_random_budgets) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto p = random_problem(ranks(), seed % 3 == 0 ? 200000 : 3000, seed, {seed % 2 == 0, seed % 5, seed % 7});
    const in_place_buffers buffers(p, element::bytes(1));
    auto work = buffers.before[static_cast<std::size_t>(rank_of())];
    const arguments a(p, rank_of());
    statistics st;
    options o{.stats = &st};
    choose_algorithm(o, seed);
    if (seed % 4 != 0) o.memory = 16384u << (seed % 4);
    const std::size_t limit = o.memory == unlimited ? std::size_t{65536} : o.memory;
    std::size_t taken = 0;
    {
      const test::heap_watch deadline;
      exchange_in(work, a, MPI_BYTE, o);
      taken = deadline.peak();
    }
    ASSERT_EQ(work, expected(p, buffers, o, element::bytes(1), work)) << seed;
    EXPECT_LE(st.peak_memory, limit);
    if (seed > 0) {  // the first call makes the communicator's own state as well
      EXPECT_LE(taken, limit);
    }
    plan again(exchange::alltoallv_in_place(work.data(), count_view(a.scounts.data()), count_view(a.sdispls.data()),
                                            count_view(a.rcounts.data()), count_view(a.rdispls.data()), MPI_BYTE,
                                            MPI_COMM_WORLD),
               o);
    for (int k = 0; k < 3; ++k) {
      work = buffers.before[static_cast<std::size_t>(rank_of())];
      again.start();
      while (!again.test()) {
      }
      ASSERT_EQ(work, expected(p, buffers, o, element::bytes(1), work)) << seed;
    }
  }
}

// The opening strategy of a call follows the one before, of another size: small blocks of some are piggybacked.
TEST(in_place_exchange, sizes_change_from_call_to_call) {
  const auto rank = static_cast<std::size_t>(rank_of());
  for (unsigned seed = 0; seed < 60; ++seed) {
    constexpr std::array<count_t, 5> most{1200, 100, 7, 12000, 70000};
    const auto p = random_problem(ranks(), most.at(seed % most.size()), seed, {seed % 2 == 0, seed % 5, seed % 7});
    const in_place_buffers buffers(p, element::bytes(1));
    auto work = buffers.before[rank];
    const arguments a(p, rank_of());
    statistics st;
    options o{.stats = &st};
    if (seed % 3 != 0) o.memory = std::size_t{65536} << (seed % 3);
    std::size_t taken = 0;
    {
      const test::heap_watch deadline;
      exchange_in(work, a, MPI_BYTE, o);
      taken = deadline.peak();
    }
    ASSERT_EQ(work, buffers.expected[rank]) << seed << ", by " << st.algorithm;
    EXPECT_LE(st.peak_memory, o.memory) << st.algorithm;
    if (seed > 2) {  // the first calls make the communicator's own state as well
      EXPECT_LE(taken, o.memory) << st.algorithm;
    }
  }
}

// A type of 3 data bytes in 5, over a problem whose units are such elements.
struct gaps {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  element unit{MPI_BYTE, 3, 5, 0, 3};
  gaps() {
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_BYTE, &dense);
    MPI_Type_create_resized(dense, 0, 5, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&dense);
  }
  gaps(const gaps&) = delete;
  gaps& operator=(const gaps&) = delete;
  ~gaps() { MPI_Type_free(&type); }
};

// Data that two ranks of a node exchange equally are swapped by either of them: by many calls of test(), not in one.
TEST(in_place_exchange, a_test_moves_a_bounded_part) {
  const int p = ranks();
  if (p < 2) GTEST_SKIP() << "needs a pair";
  constexpr count_t block = 1 << 20;
  const auto n = static_cast<std::size_t>(p);
  const std::vector<count_t> counts(n, block);
  std::vector<count_t> displs(n);
  for (std::size_t i = 0; i < n; ++i) displs[i] = static_cast<count_t>(i) * block;
  std::vector<char> buffer(n * block, static_cast<char>(rank_of()));
  options o;
  o.algorithm = "in_place";
  o.memory = std::size_t{256} << 10;
  plan again(
      exchange::alltoallv_in_place(buffer.data(), count_view(counts.data()), count_view(displs.data()),
                                   count_view(counts.data()), count_view(displs.data()), MPI_CHAR, MPI_COMM_WORLD),
      o);
  again.start();
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr int tests = 3;
  for (int i = 0; rank_of() == 0 && i < tests; ++i) {
    const std::vector<char> before = buffer;
    EXPECT_FALSE(again.test());
    count_t changed = 0;
    for (std::size_t k = 0; k < buffer.size(); ++k) changed += before[k] != buffer[k] ? 1 : 0;
    EXPECT_LT(changed, block);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  again.wait();
  for (std::size_t i = 0; i < buffer.size(); i += 997) ASSERT_EQ(buffer[i], static_cast<char>(i / block));
}

// Data that stay on a rank move a little, and so overlap with their new place.
TEST(in_place_exchange, a_test_moves_a_bounded_part_of_what_stays) {
  constexpr count_t all = count_t{12} << 20;
  constexpr std::size_t step = 4096;  // of the bytes that are looked at
  constexpr count_t by = count_t{64} << 10;
  constexpr std::size_t most = std::size_t{4} << 20U;  // four times what a test copies by itself
  const auto own = static_cast<std::size_t>(rank_of());
  const auto word = [](count_t i) { return static_cast<std::byte>((i >> 16) + 1); };
  for (const char* name : {"in_place", "in_place_phases"})
    for (const auto& [from, to] : {std::pair{count_t{0}, by}, std::pair{by, count_t{0}}}) {
      // A rank alone sends itself all of it there in one message, which the MPI library copies.
      if (ranks() == 1 && std::string_view(name) == "in_place_phases") continue;
      SCOPED_TRACE(testing::Message() << name << (from < to ? ", up" : ", down"));
      std::vector<std::byte> buffer(static_cast<std::size_t>(all + by));
      for (count_t i = 0; i < all; ++i) buffer[static_cast<std::size_t>(from + i)] = word(i);
      std::vector<count_t> counts(static_cast<std::size_t>(ranks())), sdispls(counts), rdispls(counts);
      counts[own] = all, sdispls[own] = from, rdispls[own] = to;
      plan moved(
          exchange::alltoallv_in_place(buffer.data(), count_view(counts.data()), count_view(sdispls.data()),
                                       count_view(counts.data()), count_view(rdispls.data()), MPI_BYTE, MPI_COMM_WORLD),
          options{.algorithm = name});
      std::vector<std::byte> before;
      for (std::size_t i = 0; i < buffer.size(); i += step) before.push_back(buffer[i]);
      moved.start();
      for (bool done = false; !done;) {
        done = moved.test();
        std::size_t changed = 0;
        for (std::size_t k = 0; k < before.size(); ++k)
          changed += std::exchange(before[k], buffer[k * step]) != buffer[k * step] ? step : 0;
        EXPECT_LE(changed, most);
      }
      for (count_t i = 0; i < all; i += 4096) ASSERT_EQ(buffer[static_cast<std::size_t>(to + i)], word(i)) << i;
    }
}

TEST(in_place_exchange, keeps_holes_of_the_datatype) {
  const gaps h;
  const auto me = static_cast<std::size_t>(rank_of());
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto p = random_problem(ranks(), 900, seed, {seed % 2 == 0, seed % 3, 4});
    const in_place_buffers buffers(p, h.unit);
    auto work = buffers.before[me];
    options o{.memory = 20000};
    choose_algorithm(o, seed);
    exchange_in(work, arguments(p, rank_of()), h.type, o);
    ASSERT_EQ(work, expected(p, buffers, o, h.unit, work)) << seed;
  }
}

options with(options o, std::size_t memory, statistics* s = nullptr) {
  o.memory = memory;
  o.stats = s;
  return o;
}

TEST(in_place_exchange, works_with_the_memory_it_asks_for_and_fails_on_all_ranks_with_less) {
  const gaps h;
  const auto me = static_cast<std::size_t>(rank_of());
  for (unsigned i = 0; i < 12; ++i) {
    const bool dense = i % 3 != 0;
    options o;
    choose_algorithm(o, i);
    const element unit = dense ? element::bytes(1) : h.unit;
    const MPI_Datatype type = dense ? MPI_BYTE : h.type;
    const auto p = random_problem(ranks(), 20, 5, {true, 1, 2});
    const in_place_buffers buffers(p, unit);
    const arguments a(p, rank_of());
    auto work = buffers.before[me];
    std::size_t least = 0;
    std::size_t usual = 0;
    try {
      exchange_in(work, a, type, with(o, 1));
      FAIL() << "one byte was enough";
    } catch (const budget_exceeded& e) {
      const test::named_memory named(e);
      least = named.least;
      usual = named.usual;
    }
    EXPECT_EQ(work, buffers.before[me]);
    EXPECT_THROW(exchange_in(work, a, type, with(o, least - 1)), budget_exceeded);
    EXPECT_EQ(work, buffers.before[me]);
    EXPECT_GT(usual, least);
    std::size_t peak = 0;
    for (std::size_t memory : {unlimited, usual, least, least + 100, 5 * least}) {
      work = buffers.before[me];
      statistics s;
      exchange_in(work, a, type, with(o, memory, &s));
      EXPECT_EQ(work, expected(p, buffers, o, unit, work)) << memory;
      EXPECT_LE(s.peak_memory, memory);
      if (memory == unlimited) peak = s.peak_memory;
      if (memory == usual) {
        EXPECT_EQ(s.peak_memory, peak);
      }
    }
  }
}

TEST(in_place_exchange, check_names_ranks_whose_counts_differ) {
  if (ranks() < 2) GTEST_SKIP() << "needs a pair";
  const auto p = random_problem(ranks(), 50, 3, {});
  const in_place_buffers buffers(p, element::bytes(1));
  arguments a(p, rank_of());
  if (rank_of() == 1) a.rcounts[0] += 1;
  auto work = buffers.before[static_cast<std::size_t>(rank_of())];
  work.resize(work.size() + 8);
  const auto before = work;
  // The block that grew may now overlap the next one, which is refused before.
  if (rank_of() == 1)
    for (auto& d : a.rdispls) d *= 2;
  work.resize(2 * work.size());
  const auto grown = work;
  try {
    exchange_in(work, a, MPI_BYTE, {.check = true});
    FAIL() << "not noticed";
  } catch (const usage_error& e) {
    EXPECT_EQ(e.peer(), 0) << e.what();
  }
  EXPECT_EQ(work, grown);
}

TEST(in_place_exchange, serves_mpi_in_place) {
  const auto p = static_cast<std::size_t>(ranks());
  const auto r = static_cast<std::size_t>(rank_of());
  std::vector<int> counts(p), displs(p);
  int at = 0;
  for (std::size_t i = 0; i < p; ++i) {
    counts[i] = static_cast<int>(5 + i + r) * 100;
    displs[i] = at;
    at += counts[i];
  }
  std::vector<int> mine(static_cast<std::size_t>(at));
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<int>(r * 100000 + i);
  auto theirs = mine;
  PMPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, theirs.data(), counts.data(), displs.data(),
                 MPI_INT, MPI_COMM_WORLD);
  run(exchange::alltoallv(MPI_IN_PLACE, {}, {}, MPI_DATATYPE_NULL, mine.data(), count_view(counts.data()),
                          count_view(displs.data()), MPI_INT, MPI_COMM_WORLD),
      {.algorithm = "in_place"});
  EXPECT_EQ(mine, theirs);
}

}  // namespace
}  // namespace taquin
