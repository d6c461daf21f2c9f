// Random redistributions over MPI, as plans that run twice, from the least memory up.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "layouts/problems.hpp"
#include "support/named_memory.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

namespace taquin {
namespace {

using test::layout_case;

// A committed type of the elements, which the caller frees.
MPI_Datatype type_of_element(const layout_case& c) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(c.element), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

// The memory that an error names.
test::named_memory named_memory_of(const layout_case& c, MPI_Datatype type, const std::byte* from, std::byte* to) {
  layout_options o = c.options;
  o.memory = 1;
  try {
    layout_redistribution(from, c.from.made, to, c.to.made, type, MPI_COMM_WORLD, o);
  } catch (const budget_exceeded& e) {
    EXPECT_TRUE(e.collective());
    return test::named_memory(e);
  }
  ADD_FAILURE() << "one byte suffices";
  return test::named_memory({"", 0, 0, 0});
}

void check(const layout_case& c, std::uint32_t seed) {
  const int rank = test::rank_in(MPI_COMM_WORLD);
  MPI_Datatype type = type_of_element(c);
  const auto mine = static_cast<std::size_t>(rank);
  const std::vector<std::byte> from = c.before()[mine];
  const std::vector<std::byte> want = c.after()[mine];
  std::vector<std::byte> to(want.size(), layout_case::untouched);
  const test::named_memory named = named_memory_of(c, type, from.data(), to.data());
  const std::size_t least = named.least;
  const auto peak_within = [&](std::size_t memory) {
    layout_options o = c.options;
    o.memory = memory;
    return layout_redistribution(from.data(), c.from.made, to.data(), c.to.made, type, MPI_COMM_WORLD, o).peak_memory();
  };
  EXPECT_GT(named.usual, least) << "seed " << seed;
  EXPECT_EQ(peak_within(named.usual), peak_within(unlimited)) << "seed " << seed;
  layout_options o = c.options;
  o.memory = least - 1;
  EXPECT_THROW(layout_redistribution(from.data(), c.from.made, to.data(), c.to.made, type, MPI_COMM_WORLD, o),
               budget_exceeded);
  for (const std::size_t more : {std::size_t{0}, std::size_t{100}, std::size_t{5000}, std::size_t{1} << 20U}) {
    o.memory = least + more;
    layout_redistribution move(from.data(), c.from.made, to.data(), c.to.made, type, MPI_COMM_WORLD, o);
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::ranges::fill(to, layout_case::untouched);
      if (repeat == 0) {
        move();
      } else {
        move.start();
        while (!move.test()) {
        }
      }
      ASSERT_TRUE(to == want) << "seed " << seed << ", memory " << o.memory;
    }
    EXPECT_LE(move.peak_memory(), o.memory);
  }
  MPI_Type_free(&type);
}

TEST(layouts, random_ones_arrive_element_by_element_from_the_least_memory_up) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  for (std::uint32_t seed = 1; seed <= (ranks > 5 ? 12U : 40U); ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int a, int b) { return a + static_cast<int>(random() % static_cast<std::uint32_t>(b - a + 1)); };
    check(test::some_case(pick, ranks), seed);
  }
}

// Which bytes of this rank's array belong to the target: those outside have no meaning after a move in one array.
std::vector<bool> bytes_of_target(const layout_case& c, int rank) {
  std::vector<bool> belongs(static_cast<std::size_t>(c.to.made.local_size(rank)) * c.element, false);
  for (const auto& p : c.to.places())
    for (std::size_t b = 0; p.rank == rank && b < c.element; ++b)
      belongs[static_cast<std::size_t>(p.offset) * c.element + b] = true;
  return belongs;
}

// In its own memory, guarded behind its end.
void check_in_one_array(layout_case c, std::uint32_t seed) {
  const int rank = test::rank_in(MPI_COMM_WORLD);
  MPI_Datatype type = type_of_element(c);
  const auto mine = static_cast<std::size_t>(rank);
  const std::vector<std::byte> from = c.before()[mine];
  const std::vector<std::byte> want = c.after()[mine];
  const std::vector<bool> belongs = bytes_of_target(c, rank);
  const std::size_t room = std::max(from.size(), want.size());
  std::vector<std::byte> data(room + 64, std::byte{0x5c});
  statistics s;
  const auto move = [&](std::size_t memory) {
    std::ranges::fill(data, std::byte{0x5c});
    std::ranges::copy(from, data.begin());
    layout_options o = c.options;
    o.memory = memory;
    s = {};
    o.stats = &s;
    redistribute(data.data(), c.from.made, c.to.made, type, MPI_COMM_WORLD, o);
    for (std::size_t k = 0; k < want.size(); ++k)
      if (belongs[k]) {
        ASSERT_EQ(data[k], want[k]) << "seed " << seed << ", memory " << memory << ", byte " << k;
      }
    for (std::size_t k = room; k < data.size(); ++k) ASSERT_EQ(data[k], std::byte{0x5c}) << "seed " << seed;
    EXPECT_LE(s.peak_memory, memory);
  };
  std::size_t least = 0;
  std::size_t usual = 0;
  try {
    move(1);
    ADD_FAILURE() << "one byte suffices";
  } catch (const budget_exceeded& e) {
    EXPECT_TRUE(e.collective());
    const test::named_memory named(e);
    least = named.least;
    usual = named.usual;
    EXPECT_TRUE(std::ranges::equal(from, std::span(data).first(from.size()))) << "as it was";
  }
  EXPECT_THROW(move(least - 1), budget_exceeded);
  move(unlimited);
  const std::size_t peak = s.peak_memory;
  move(usual);
  EXPECT_EQ(s.peak_memory, peak) << "seed " << seed;
  for (const std::size_t more : {std::size_t{0}, std::size_t{100}, std::size_t{5000}, std::size_t{1} << 20U}) {
    move(least + more);
    if (testing::Test::HasFatalFailure()) break;
    // Prepared once, nonblocking, and run again.
    layout_options o = c.options;
    o.memory = least + more;
    layout_redistribution plan(data.data(), c.from.made, c.to.made, type, MPI_COMM_WORLD, o);
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::ranges::copy(from, data.begin());
      plan.start();
      EXPECT_THROW(plan.start(), usage_error);
      while (!plan.test()) continue;
      for (std::size_t k = 0; k < want.size(); ++k)
        if (belongs[k]) {
          ASSERT_EQ(data[k], want[k]) << "seed " << seed << ", memory " << o.memory << ", repeat " << repeat;
        }
    }
    EXPECT_LE(plan.peak_memory(), o.memory);
    EXPECT_THROW(plan.set_data(nullptr, nullptr), usage_error);
  }
  MPI_Type_free(&type);
}

TEST(layouts, random_ones_move_in_one_array_from_the_least_memory_up) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  for (std::uint32_t seed = 1; seed <= (ranks > 5 ? 12U : 60U) && !HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int a, int b) { return a + static_cast<int>(random() % static_cast<std::uint32_t>(b - a + 1)); };
    const layout_case c = test::some_case(pick, ranks);
    if (c.options.extents.empty()) check_in_one_array(c, seed);
  }
}

// Many pages of each rank, elements of several sizes, and axes that change places.
TEST(layouts, large_arrays_move_in_one_array) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  std::uint32_t seed = 0;
  for (const std::size_t element : {1U, 8U, 24U, 3000U})
    for (const bool permuted : {false, true}) {
      std::mt19937 random(++seed);
      auto pick = [&](int a, int b) { return a + static_cast<int>(random() % static_cast<std::uint32_t>(b - a + 1)); };
      const count_t rows = element == 3000 ? 19 : 130;
      const std::vector<count_t> extents{rows, 37, 5};
      layout_case c;
      c.ranks = ranks;
      c.element = element;
      c.from = test::some_layout(pick, extents, ranks);
      std::vector<count_t> there = extents;
      if (permuted) {
        c.options.axes = {2, 0, 1};
        for (std::size_t d = 0; d < 3; ++d) there[static_cast<std::size_t>(c.options.axes[d])] = extents[d];
      }
      c.to = test::some_layout(pick, there, ranks);
      check_in_one_array(c, seed);
    }
}

// Runs that are whole pages and others, cut in every way.
TEST(layouts, arrays_of_many_pages_move_in_one_array) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const auto cut = [&](std::string_view how, count_t n) {
    if (how == "whole") return dimension::whole(n);
    if (how == "even") return dimension::even(n, ranks);
    return dimension::block_cyclic(n, ranks, how == "blocks" ? 7 : 1, ranks - 1);
  };
  const auto side = static_cast<count_t>(8 * ranks);
  for (const count_t more : {0, 1})
    for (const bool transposed : {false, true})
      for (const std::string_view how : {"even", "blocks", "cyclic"}) {
        const std::vector<count_t> extents{side, side + more, 128};
        const layout from({cut("even", side), cut("whole", side + more), cut("whole", 128)});
        const std::vector<int> axes = transposed ? std::vector<int>{2, 1, 0} : std::vector<int>{0, 1, 2};
        std::vector<dimension> there(3);
        for (std::size_t d = 0; d < 3; ++d)
          there[static_cast<std::size_t>(axes[d])] = cut(d == 1 ? how : "whole", extents[d]);
        const layout to(there);
        const int rank = test::rank_in(MPI_COMM_WORLD);
        std::vector<std::uint64_t> data(static_cast<std::size_t>(std::max(from.local_size(rank), to.local_size(rank))) +
                                        1);
        const auto each = [&](const layout& l, bool at_target, auto f) {
          for (count_t i = 0; i < side; ++i)
            for (count_t j = 0; j < side + more; ++j)
              for (count_t k = 0; k < 128; ++k) {
                count_t index[3] = {i, j, k};
                if (at_target) {
                  const count_t source[3] = {i, j, k};
                  for (std::size_t d = 0; d < 3; ++d) index[static_cast<std::size_t>(axes[d])] = source[d];
                }
                if (const auto p = l.find(index); p.rank == rank)
                  f(data[static_cast<std::size_t>(p.offset)], static_cast<std::uint64_t>((i * 1000 + j) * 1000 + k));
              }
        };
        statistics s;
        layout_options o;
        o.memory = std::size_t{16} << 20U;
        o.stats = &s;
        o.axes = axes;
        layout_redistribution move(data.data(), from, to, MPI_UINT64_T, MPI_COMM_WORLD, o);
        for (int repeat = 0; repeat < 2; ++repeat) {
          each(from, false, [](std::uint64_t& at, std::uint64_t v) { at = v; });
          move();
          std::size_t wrong = 0;
          each(to, true, [&](const std::uint64_t& at, std::uint64_t v) { wrong += at != v ? 1 : 0; });
          ASSERT_EQ(wrong, 0U) << how << ' ' << more << ' ' << transposed << ' ' << repeat;
        }
        EXPECT_LE(s.peak_memory, o.memory);
        EXPECT_LE(s.peak_memory, data.size() * sizeof(std::uint64_t)) << "the limit is not a reason to take it";
      }
}

// A call that is refused leaves the array as it was.
TEST(layouts, what_one_array_cannot_hold_is_refused_on_all_ranks) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const layout from({dimension::even(10, ranks), dimension::whole(3)});
  const layout all_on_0({dimension::whole(10), dimension::whole(3)});
  std::vector<int> a(static_cast<std::size_t>(from.local_size(rank)), rank);
  const std::vector<int> before = a;
  const auto refused = [&](const layout& to, std::string_view text, const layout_options& o = {}) {
    try {
      redistribute(std::span<int>(a), from, to, MPI_COMM_WORLD, o);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what();
    }
    EXPECT_EQ(a, before);
  };
  if (ranks > 1) refused(all_on_0, "are needed");
  layout_options part;
  part.extents = {5, 3};
  refused(from, "a part of an array", part);
}

// Chunks of full size, several of them for each pair of ranks.
TEST(layouts, large_matrix_is_transposed_to_another_grid) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  constexpr count_t rows = 700;
  constexpr count_t columns = 513;
  const layout from({dimension::even(rows, ranks), dimension::whole(columns)});
  const layout to({dimension::block_cyclic(columns, ranks, 7, ranks - 1), dimension::whole(rows)},
                  storage_order::fortran);
  std::vector<double> a(static_cast<std::size_t>(from.local_size(rank)));
  std::vector<double> b(static_cast<std::size_t>(to.local_size(rank)), -1);
  for (count_t i = 0; i < rows; ++i)
    for (count_t j = 0; j < columns; ++j) {
      const count_t index[] = {i, j};
      if (const auto p = from.find(index); p.rank == rank)
        a[static_cast<std::size_t>(p.offset)] = static_cast<double>(i * columns + j);
    }
  statistics s;
  layout_options o;
  o.axes = {1, 0};
  o.stats = &s;
  redistribute(std::span<const double>(a), from, std::span<double>(b), to, MPI_COMM_WORLD, o);
  for (count_t i = 0; i < rows; ++i)
    for (count_t j = 0; j < columns; ++j) {
      const count_t index[] = {j, i};
      if (const auto p = to.find(index); p.rank == rank) {
        ASSERT_EQ(b[static_cast<std::size_t>(p.offset)], static_cast<double>(i * columns + j)) << i << ' ' << j;
      }
    }
  EXPECT_EQ(s.starts, 1U);
  EXPECT_EQ(s.algorithm, "layouts");
  EXPECT_LE(s.peak_memory, o.memory);
}

// Every rank has the error of one, with what is wrong; nothing has moved.
TEST(layouts, wrong_ones_are_refused_on_all_ranks) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const layout good({dimension::even(10, ranks), dimension::whole(3)});
  std::vector<int> a(static_cast<std::size_t>(good.local_size(rank)), 1);
  std::vector<int> b(a.size(), 2);
  const auto refused = [&](const layout& from, std::string_view text, const layout_options& o = {},
                           std::size_t fewer = 0) {
    try {
      redistribute(std::span<const int>(a).first(a.size() - std::min(fewer, a.size())), from, std::span<int>(b), good,
                   MPI_COMM_WORLD, o);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what();
    }
    EXPECT_TRUE(std::ranges::all_of(b, [](int v) { return v == 2; }));
  };
  const count_t short_one[] = {9};
  refused(layout({dimension::given(short_one), dimension::whole(3)}), "9 indices, dimension 0 of the target 10");
  refused(layout({dimension::even(10, ranks + 1), dimension::whole(3)}), "processes on");
  dimension overlapping = dimension::even(10, 1);
  overlapping.bounds = {0, 12};
  refused(layout({overlapping, dimension::whole(3)}), "cover 0 to 12 of 10");
  refused(layout({dimension::block_cyclic(10, ranks, 2, ranks), dimension::whole(3)}), "first process");
  refused(layout({dimension::even(count_t{1} << 60, ranks), dimension::whole(3)}), "2^56");
  refused(layout({dimension::even(10, ranks)}), "1 dimensions, the target 2");
  const int outside[] = {ranks};
  refused(layout({dimension::whole(10), dimension::whole(3)}).on_ranks(outside), "rank " + std::to_string(ranks));
  layout_options part;
  part.extents = {10, 4};
  refused(good, "dimension 1 of the source", part);
  layout_options axes;
  axes.axes = {0, 0};
  refused(good, "permutation", axes);
  refused(good, "are needed", {}, rank == 0 ? 1 : 0);
  if (ranks > 1) {
    refused(layout({rank == 0 ? dimension::cyclic(10, ranks) : dimension::even(10, ranks), dimension::whole(3)}),
            "disagree");
  }
  redistribute(std::span<const int>(a), good, std::span<int>(b), good, MPI_COMM_WORLD);
  EXPECT_EQ(a, b);
}

TEST(layouts, several_are_under_way_at_the_same_time) {
  const int ranks = test::size_of(MPI_COMM_WORLD);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const layout rows({dimension::even(40, ranks), dimension::whole(50)});
  const layout columns({dimension::whole(40), dimension::cyclic(50, ranks)});
  std::vector<int> a(static_cast<std::size_t>(rows.local_size(rank)), rank);
  std::vector<int> b(static_cast<std::size_t>(columns.local_size(rank)), -1);
  std::vector<int> c(a.size(), -1);
  layout_redistribution there(a.data(), rows, b.data(), columns, MPI_INT, MPI_COMM_WORLD);
  layout_redistribution other(a.data(), rows, c.data(), rows, MPI_INT, MPI_COMM_WORLD);
  layout_redistribution back(b.data(), columns, c.data(), rows, MPI_INT, MPI_COMM_WORLD);
  there.start();
  other.start();
  rank % 2 == 0 ? there.wait() : other.wait();
  rank % 2 == 0 ? other.wait() : there.wait();
  EXPECT_EQ(a, c);
  std::ranges::fill(c, -1);
  back();
  EXPECT_EQ(a, c);
}

}  // namespace
}  // namespace taquin
