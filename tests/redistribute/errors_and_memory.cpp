// Arguments that are refused, on every rank, with the data untouched; and the memory that is promised.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "redistribute/footprint.hpp"
#include "redistribute/machine.hpp"
#include "redistribute/problems.hpp"
#include "redistribute/refusal.hpp"
#include "support/heap_watch.hpp"
#include "support/named_memory.hpp"
#include "taquin/error.hpp"
#include "taquin/migrate.hpp"
#include "taquin/redistribute.hpp"
#include "taquin/taquin.h"

namespace taquin {
namespace {

using test::promised;
using test::refusal;

TEST_F(refusal, a_rank_out_of_range_names_rank_and_block) {
  if (rank == ranks - 1) ranks_to[4] = ranks;
  refused({"rank " + std::to_string(ranks - 1) + ":", "block 4"});
}

TEST_F(refusal, an_index_out_of_range_names_rank_and_block) {
  if (rank == 0) indices[7] = blocks;
  refused({"rank 0:", "block 7", "index 10"});
}

TEST_F(refusal, sorting_by_destinations_that_do_not_fit_the_array_or_the_ranks) {
  redistribution r(data.data(), blocks, 1, MPI_INT, MPI_COMM_WORLD);
  const auto refuses = [&](std::size_t to, std::size_t at, const std::string& part) {
    const auto before = data;
    std::vector<int> given_ranks(to, 0);
    std::vector<int> given_indices(at, 0);
    std::copy_n(ranks_to.begin(), std::min<std::size_t>(to, blocks), given_ranks.begin());
    try {
      r.sort(given_ranks, given_indices);
      ADD_FAILURE() << "sorted: " << part;
    } catch (const usage_error& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
    EXPECT_EQ(data, before);
  };
  refuses(blocks + 1000, blocks + 1000, "1010 ranks and 1010 indices for 10 blocks");
  refuses(blocks - 1, blocks - 1, "9 ranks and 9 indices for 10 blocks");
  refuses(blocks, blocks - 3, "10 ranks and 7 indices");
  ranks_to[3] = ranks;
  refuses(blocks, blocks, fmt::format("block 3 goes to rank {}; ranks are 0 to {}, or -1", ranks, ranks - 1));
  ranks_to[3] = 1 << 30;
  refuses(blocks, blocks, "block 3 goes to rank 1073741824");
  ranks_to[3] = -2;
  refuses(blocks, blocks, "block 3 goes to rank -2");
}

TEST(block_map, has_no_destination_for_a_slot_that_is_not_there) {
  std::vector<int> data(4);
  detail::store units(data.data(), 4, 1, element::of(MPI_INT), 1, std::pmr::new_delete_resource());
  detail::block_map map(units, std::pmr::new_delete_resource());
  map.set(4, {0, 0});
  EXPECT_THROW(map.set(5, {0, 0}), usage_error);
}

TEST_F(refusal, a_map_longer_than_the_array) {
  ranks_to.resize(blocks + 1, -1);
  indices.resize(blocks + 1, 0);
  refused({"11 blocks", "10"});
}

TEST_F(refusal, two_blocks_for_one_place_names_both_blocks) {
  if (rank == 0) indices[3] = 6;
  refused({"block 3 of rank 0", "block 6 of rank 0", "index 6"});
}

TEST_F(refusal, two_ranks_for_one_place_with_more_blocks_than_places) {
  for (auto& r : ranks_to) r = 0;
  if (ranks == 1) indices[1] = 0;
  refused({"both go to index", "of rank 0"});
}

TEST_F(refusal, options_that_differ_or_are_unknown) {
  EXPECT_THROW(redistribution(data.data(), blocks, 1, MPI_INT, MPI_COMM_WORLD, {.algorithm = "no such"}), usage_error);
  EXPECT_THROW(redistribution(data.data(), rank == 0 ? -1 : blocks, 1, MPI_INT, MPI_COMM_WORLD), usage_error);
  if (ranks > 1) {
    EXPECT_THROW(redistribution(data.data(), blocks, rank == 0 ? 2 : 1, MPI_INT, MPI_COMM_WORLD), usage_error);
  }
}

TEST_F(refusal, memory_stays_below_the_promise_and_a_limit_of_it_is_enough) {
  std::vector<char> warm(1);
  redistribution(warm.data(), 1, 1, MPI_CHAR, MPI_COMM_WORLD);  // makes the private communicator
  for (const auto* a : detail::redistributions())
    for (const auto& [m, l] : std::vector<std::pair<int, int>>{
             {20, 1}, {3000, 1}, {300, 8}, {1000, 56}, {3000, 64}, {100, 4096}, {40, 16000}, {3, 1 << 20}}) {
      const auto all = test::random_problem(std::vector<int>(static_cast<std::size_t>(ranks), m), 95, 3);
      const auto& map = all[static_cast<std::size_t>(rank)];
      std::vector<char> blocks_data(static_cast<std::size_t>(m) * static_cast<std::size_t>(l));
      const std::size_t limit =
          promised(static_cast<std::size_t>(ranks), static_cast<std::size_t>(m), 3 * static_cast<std::size_t>(l));
      const test::heap_watch deadline;
      redistribution redistribute(blocks_data.data(), m, l, MPI_CHAR, MPI_COMM_WORLD,
                                  {.algorithm = a->name, .memory = limit});
      redistribute(map.ranks, map.indices);
      EXPECT_LE(redistribute.peak_memory(), limit);
      EXPECT_LE(test::heap_watch::peak(), limit) << a->name << ", " << m << " blocks of " << l;
      // The places of blocks may be in the node's memory for a while, which is counted.
      const std::size_t in_node = 4 * static_cast<std::size_t>(m) + 64 * static_cast<std::size_t>(ranks);
      EXPECT_GE(test::heap_watch::peak() + in_node, redistribute.peak_memory());
    }
}

// The allocations are within the documented formula for all elements, from the least memory up and by default.
TEST_F(refusal, tables_have_sixteen_bytes_for_a_block_whatever_its_size) {
  std::vector<char> warm(1);
  redistribution(warm.data(), 1, 1, MPI_CHAR, MPI_COMM_WORLD);  // makes the private communicator
  const auto p = static_cast<std::size_t>(ranks);
  for (const auto* a : detail::redistributions())
    for (const auto& [m, l] : std::vector<std::pair<std::size_t, std::size_t>>{
             {6000, 1}, {6000, 8}, {3000, 56}, {500, 4096}, {5, 1 << 20}, {2, 64 << 20}}) {
      if (l == 64 << 20 && ranks != 2) continue;                // the memory of most machines
      const bool cycle = a->name != std::string_view("slots");  // the others take a phase for each block without space
      const auto all = cycle ? test::shift_problem(ranks, static_cast<int>(m), static_cast<int>(m / 2))
                             : test::random_problem(std::vector<int>(p, static_cast<int>(m)), 97, 5);
      const auto& map = all[static_cast<std::size_t>(rank)];
      const auto redistribute_in = [&](std::size_t memory, std::size_t promise) {
        std::vector<char> moved(m * l);
        const test::heap_watch deadline;
        redistribution moves(moved.data(), static_cast<count_t>(m), static_cast<count_t>(l), MPI_CHAR, MPI_COMM_WORLD,
                             {.algorithm = a->name, .memory = memory});
        moves(map.ranks, map.indices);
        EXPECT_LE(test::heap_watch::peak(), promise + 4096) << a->name << ", " << m << " blocks of " << l;
        EXPECT_LE(moves.peak_memory(), promise);
      };
      const std::size_t parts = l == 64 << 20 ? 2048 : l == 1 << 20 ? 256 : 1;
      std::size_t least = 0;
      try {
        redistribute_in(1, 0);
      } catch (const budget_exceeded& e) {
        least = e.requested();
      }
      redistribute_in(least, promised(p, m * parts, 3 * l / parts));
      EXPECT_THROW(redistribute_in(least - 1, least), budget_exceeded);
      redistribute_in(unlimited,
                      promised(p, m * parts, l > 16384 ? std::max<std::size_t>(m * l / 100, 65536) : 3 << 19));
    }
}

TEST_F(refusal, a_rank_without_blocks_keeps_the_promise_beside_ranks_with_many) {
  for (const auto* a : detail::redistributions()) {
    const int m = rank == 0 ? 0 : 20000;
    std::vector<int> sizes(static_cast<std::size_t>(ranks), 20000);
    sizes[0] = 0;
    const auto all = test::random_problem(sizes, 98, 3);
    std::vector<char> blocks_data(static_cast<std::size_t>(m) * 4);
    redistribution redistribute(blocks_data.data(), m, 4, MPI_CHAR, MPI_COMM_WORLD, {.algorithm = a->name});
    redistribute(all[static_cast<std::size_t>(rank)].ranks, all[static_cast<std::size_t>(rank)].indices);
    EXPECT_LE(redistribute.peak_memory(), promised(static_cast<std::size_t>(ranks), 20000, 3 << 19)) << a->name;
  }
}

// Messages of fewer blocks take less memory.
TEST(memory, down_to_buffers_of_one_block_is_enough) {
  int rank = 0;
  int p = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  constexpr int length = 4096;
  constexpr int blocks = 16;
  for (const auto* a : detail::redistributions()) {
    std::vector<int> ranks(blocks);
    std::vector<int> indices(blocks);
    for (int k = 0; k < blocks; ++k) ranks[at(k)] = (rank + 1 + k % 2) % p, indices[at(k)] = k;
    const auto peak_with = [&](std::size_t memory) {
      std::vector<int> mine(at(blocks * length));
      for (int k = 0; k < blocks; ++k) std::fill_n(mine.begin() + k * length, length, rank * blocks + k);
      redistribution moves(mine.data(), blocks, length, MPI_INT, MPI_COMM_WORLD,
                           {.algorithm = a->name, .memory = memory});
      moves(ranks, indices);
      for (int k = 0; k < blocks; ++k) {
        const int from = ((rank - 1 - k % 2) % p + p) % p;
        EXPECT_EQ(mine[at(k * length)], from * blocks + k) << a->name;
        EXPECT_EQ(mine[at((k + 1) * length - 1)], from * blocks + k) << a->name;
      }
      return moves.peak_memory();
    };
    std::size_t least = 0;
    try {
      peak_with(100);
      ADD_FAILURE() << a->name;
    } catch (const budget_exceeded& e) {
      least = e.requested();
    }
    if (p == 1) least = std::max<std::size_t>(least, 1);
    EXPECT_LE(peak_with(least), least) << a->name;
    EXPECT_LE(least, test::promised(at(p), blocks, 3 * length * sizeof(int))) << a->name;
    EXPECT_THROW(peak_with(least - 1), budget_exceeded);
  }
}

// The least memory does not grow with a block's size: blocks are divided. With a byte less all ranks refuse, and one
// error names the whole. Every byte is compared.
TEST(memory, needs_a_part_of_a_block_and_exactly_what_the_error_names) {
  int rank = 0;
  int p = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  constexpr std::size_t blocks = 4;
  for (const auto* a : detail::redistributions())
    for (const std::size_t length : {1U, 8U, 56U, 4096U, 70001U, 1U << 20U}) {
      std::vector<int> ranks(blocks, (rank + 1) % p);
      const std::vector<int> indices{1, 2, 3, 0};
      std::vector<char> mine(blocks * length);
      const auto value = [](int of, std::size_t block, std::size_t k) {
        return static_cast<char>(static_cast<std::size_t>(of) * 31 + block * 7 + k + k / 4096);
      };
      const auto attempt = [&](std::size_t memory) {
        for (std::size_t k = 0; k < blocks; ++k)
          for (std::size_t i = 0; i < length; ++i) mine[k * length + i] = value(rank, k, i);
        const test::heap_watch deadline;
        redistribution moves(mine.data(), blocks, static_cast<count_t>(length), MPI_CHAR, MPI_COMM_WORLD,
                             {.algorithm = a->name, .memory = memory});
        moves(ranks, indices);
        const std::size_t peak = test::heap_watch::peak();
        EXPECT_LE(moves.peak_memory(), memory);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < blocks; ++k)
          for (std::size_t i = 0; i < length; ++i)
            wrong += mine[(k + 1) % blocks * length + i] != value((rank + p - 1) % p, k, i);
        EXPECT_EQ(wrong, 0U) << a->name << ", " << length << ", " << memory;
        return peak;
      };
      std::size_t least = 0;
      std::size_t usual = 0;
      try {
        attempt(1);
      } catch (const budget_exceeded& e) {
        const test::named_memory named(e);
        least = named.least;
        usual = named.usual;
      }
      EXPECT_LE(attempt(least), least + 4096) << a->name << ", " << length;  // with the object itself
      EXPECT_THROW(attempt(least - 1), budget_exceeded);
      const std::size_t parts = length == 1U << 20U ? 128 : 1;
      EXPECT_LE(least, test::promised(static_cast<std::size_t>(p), blocks * parts, 3 * length / parts))
          << a->name << ", " << length;
      attempt(least + least / 3);
      if (length != 70001) {  // which has one choice, and no node's memory on one rank
        EXPECT_GT(usual, least) << a->name << ", " << length;
      }
      EXPECT_LE(attempt(unlimited), usual + 4096) << a->name << ", " << length;
      attempt(usual);
      if (length == 1U << 20U) {
        EXPECT_LE(attempt(unlimited), test::promised(static_cast<std::size_t>(p), blocks * 128, 65536) + 4096);
      }
    }
}

TEST_F(refusal, divided_blocks_are_named_as_the_caller_has_them) {
  constexpr int length = 1 << 16;
  std::vector<double> large(4 * length);
  redistribution moves(large.data(), 4, length, MPI_DOUBLE, MPI_COMM_WORLD, {.memory = 160 << 10});
  const auto text_of = [&](const std::vector<int>& to, const std::vector<int>& at) -> std::string {
    try {
      moves(to, at);
    } catch (const usage_error& e) {
      return e.what();
    }
    return {};
  };
  const std::vector<int> here(4, rank);
  EXPECT_NE(text_of(here, {0, 1, 2, 4}).find("block 3 goes to index 4 of rank"), std::string::npos);
  EXPECT_NE(text_of(here, {0, 2, 3, 2}).find("both go to index 2 of rank"), std::string::npos);
  for (std::size_t k = 0; k < large.size(); ++k) large[k] = static_cast<double>(k / length);
  std::vector<int> to{ranks - 1, 0, -1, 0};
  std::vector<int> index{7, 8, 9, 10};
  moves.sort(to, index);
  EXPECT_EQ(to.back(), -1);
  const auto first = static_cast<std::size_t>(index[0] == 7 ? 0 : index[0] == 8 ? 1 : 3);
  EXPECT_EQ(large[0], static_cast<double>(first));
  EXPECT_EQ(large[length - 1], static_cast<double>(first));
}

TEST_F(refusal, too_little_memory_on_one_rank_is_refused_on_all) {
  EXPECT_THROW(redistribution(data.data(), blocks, 1, MPI_INT, MPI_COMM_WORLD, {.memory = rank == 0 ? 500 : unlimited}),
               budget_exceeded);
  std::vector<int> elements(100, rank);
  EXPECT_THROW(migrate(elements, [](int) { return 0; }, MPI_COMM_WORLD, {.memory = rank == 0 ? 1000 : unlimited}),
               budget_exceeded);
  EXPECT_EQ(elements, std::vector<int>(100, rank));
}

TEST_F(refusal, blocks_of_a_type_with_holes_leave_the_holes_alone) {
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Datatype one = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &one);  // int, gap, int
  MPI_Type_create_resized(one, 0, 4 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  std::vector<int> wide(blocks * 4);
  for (const auto* a : detail::redistributions()) {
    for (int i = 0; i < blocks * 4; ++i) wide[static_cast<std::size_t>(i)] = i % 2 == 0 ? rank * 1000 + i : -5;
    redistribution redistribute(wide.data(), blocks, 1, gaps, MPI_COMM_WORLD, {.algorithm = a->name});
    redistribute(ranks_to, indices);
    const int from = (rank + ranks - 1) % ranks;
    for (int i = 0; i < blocks * 4; ++i)
      ASSERT_EQ(wide[static_cast<std::size_t>(i)], i % 2 == 0 ? from * 1000 + i : -5) << a->name << " " << i;
  }
  MPI_Type_free(&gaps);
  MPI_Type_free(&one);
}

// Large blocks that come to scattered places are received by a derived type.
TEST_F(refusal, scattered_large_blocks_of_a_type_with_holes_leave_the_holes_alone) {
  constexpr int pairs = 200;  // of an int and a gap
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  const auto all = test::random_problem(std::vector<int>(static_cast<std::size_t>(ranks), 60), 90, 11);
  const auto& map = all[static_cast<std::size_t>(rank)];
  const auto want = test::expected(all, rank);
  std::vector<int> wide(60 * pairs * 2);
  const auto at = [&](std::size_t k, int i) -> int& { return wide[(k * pairs + static_cast<std::size_t>(i)) * 2]; };
  const auto value = [](std::uint64_t identity, int i) { return static_cast<int>(identity >> 33U) ^ i; };
  for (const auto* a : detail::redistributions()) {
    std::ranges::fill(wide, -5);
    for (std::size_t k = 0; k < 60; ++k)
      for (int i = 0; i < pairs; ++i) at(k, i) = value(test::identity(rank, static_cast<int>(k)), i);
    redistribution redistribute(wide.data(), 60, pairs, gaps, MPI_COMM_WORLD, {.algorithm = a->name});
    redistribute(map.ranks, map.indices);
    for (std::size_t k = 0; k < 60; ++k)
      for (int i = 0; i < pairs; ++i) {
        if (want[k] != 0) {
          ASSERT_EQ(at(k, i), value(want[k], i)) << a->name << " block " << k << " pair " << i;
        }
        ASSERT_EQ((&at(k, i))[1], -5) << a->name;
      }
  }
  MPI_Type_free(&gaps);
}

TEST_F(refusal, the_c_calls_redistribute_and_report) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  TAQUIN_Redistribution r = nullptr;
  ASSERT_EQ(TAQUIN_Redistribution_create(data.data(), blocks, 1, MPI_INT, comm, nullptr, TAQUIN_UNLIMITED, &r),
            MPI_SUCCESS);
  auto other = data;
  ASSERT_EQ(TAQUIN_Redistribution_set_data(r, other.data()), MPI_SUCCESS);
  ASSERT_EQ(TAQUIN_Redistribution_redistribute(r, blocks, ranks_to.data(), indices.data()), MPI_SUCCESS);
  for (int k = 0; k < blocks; ++k) EXPECT_EQ(other[static_cast<std::size_t>(k)], (rank + ranks - 1) % ranks * 1000 + k);
  std::size_t bytes = 0;
  ASSERT_EQ(TAQUIN_Redistribution_memory(r, &bytes), MPI_SUCCESS);
  EXPECT_GT(bytes, 0U);
  // An error on one rank is an error on all, with the data untouched.
  const bool wrong = rank == ranks - 1;
  const auto before = other;
  EXPECT_NE(TAQUIN_Redistribution_redistribute(r, wrong ? -1 : blocks, ranks_to.data(), indices.data()), MPI_SUCCESS);
  EXPECT_NE(std::string(TAQUIN_Last_error()).find("-1 blocks"), std::string::npos) << TAQUIN_Last_error();
  EXPECT_NE(TAQUIN_Redistribution_redistribute(r, blocks, wrong ? nullptr : ranks_to.data(), indices.data()),
            MPI_SUCCESS);
  EXPECT_NE(std::string(TAQUIN_Last_error()).find("null destinations"), std::string::npos) << TAQUIN_Last_error();
  TAQUIN_Redistribution second = nullptr;
  EXPECT_NE(TAQUIN_Redistribution_create(data.data(), blocks, 1, MPI_INT, comm, nullptr, TAQUIN_UNLIMITED,
                                         wrong ? nullptr : &second),
            MPI_SUCCESS);
  EXPECT_NE(std::string(TAQUIN_Last_error()).find("null address"), std::string::npos) << TAQUIN_Last_error();
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(other, before);
  indices[0] = -1;
  EXPECT_NE(TAQUIN_Redistribution_redistribute(r, blocks, ranks_to.data(), indices.data()), MPI_SUCCESS);
  EXPECT_NE(std::string(TAQUIN_Last_error()).find("block 0"), std::string::npos);
  // A null handle is this rank's error alone; the others wait for its proper call.
  indices[0] = 0;
  MPI_Errhandler old = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (wrong) {
    EXPECT_NE(TAQUIN_Redistribution_redistribute(nullptr, blocks, ranks_to.data(), indices.data()), MPI_SUCCESS);
    EXPECT_NE(std::string(TAQUIN_Last_error()).find("null redistribution"), std::string::npos);
  }
  EXPECT_EQ(TAQUIN_Redistribution_redistribute(r, blocks, ranks_to.data(), indices.data()), MPI_SUCCESS);
  EXPECT_NE(TAQUIN_Redistribution_set_data(nullptr, data.data()), MPI_SUCCESS);
  EXPECT_NE(TAQUIN_Redistribution_memory(nullptr, &bytes), MPI_SUCCESS);
  EXPECT_NE(TAQUIN_Redistribution_memory(r, nullptr), MPI_SUCCESS);
  EXPECT_NE(TAQUIN_Redistribution_free(nullptr), MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, old);
  MPI_Errhandler_free(&old);
  ASSERT_EQ(TAQUIN_Redistribution_free(&r), MPI_SUCCESS);
  EXPECT_EQ(r, nullptr);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace taquin
