// Ranks that give different layouts, or move something else: one error on all ranks, which names the argument, a rank
// and both values; all arrays stay as they are.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

namespace taquin {
namespace {

struct arguments {
  std::vector<dimension> from, to;
  std::vector<int> ranks, stored;
  storage_order grid = storage_order::c;
  layout_options options;
  MPI_Datatype type = MPI_DOUBLE;
  bool in_one_array = false;
};

// The change that the last rank makes, and the words of the error.
struct wrong_argument {
  std::function<void(arguments&)> change;
  std::string text;
};

class disagreement : public testing::Test {
 protected:
  disagreement() : rank_(test::rank_in(MPI_COMM_WORLD)), last_(test::size_of(MPI_COMM_WORLD) - 1) {}

  [[nodiscard]] std::string values(const std::string& first, const std::string& other) const {
    return " is " + first + " on rank 0 and " + other + " on rank " + std::to_string(last_);
  }
  [[nodiscard]] arguments usual() const {
    const int p = last_ + 1;
    arguments x;
    x.from = {dimension::block_cyclic(24, p, 2), dimension::whole(10), dimension::whole(3)};
    x.to = {dimension::whole(24), dimension::even(10, p), dimension::whole(3)};
    for (int r = 0; r < p; ++r) x.ranks.push_back(r);
    x.stored = {0, 1, 2};
    return x;
  }

  void expect(const wrong_argument& w) const {
    arguments x = usual();
    if (rank_ == last_) w.change(x);
    layout from(x.from, storage_order::c, x.grid);
    from.on_ranks(x.ranks).stored(x.stored);
    const layout to(x.to);
    std::vector<std::complex<double>> here(2000, 1.0), there(2000, 2.0);
    std::optional<std::string> text;
    try {
      if (x.in_one_array)
        layout_redistribution(here.data(), from, to, x.type, MPI_COMM_WORLD, x.options)();
      else
        layout_redistribution(here.data(), from, there.data(), to, x.type, MPI_COMM_WORLD, x.options)();
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_EQ(e.rank(), last_);
      text = e.what();
    }
    ASSERT_TRUE(text) << w.text;
    EXPECT_NE(text->find(w.text), std::string::npos) << *text << "\ninstead of: " << w.text;
    EXPECT_TRUE(here == std::vector<std::complex<double>>(2000, 1.0));
    EXPECT_TRUE(there == std::vector<std::complex<double>>(2000, 2.0));
  }

  int rank_;
  int last_;
};

TEST_F(disagreement, on_a_layout_names_side_dimension_ranks_and_values) {
  if (last_ == 0) return;
  const int p = last_ + 1;
  const std::vector<wrong_argument> all{
      {[](arguments& x) { x.from[0].extent = x.to[0].extent = 23; },
       "the layouts: the extent of dimension 0 of the source" + values("24", "23")},
      {[](arguments& x) { x.from[0].block = 3; },
       "the layouts: the length of blocks of dimension 0 of the source" + values("2", "3")},
      {[](arguments& x) { x.from[0].first = 1; },
       "the layouts: the first process of dimension 0 of the source" + values("0", "1")},
      {[](arguments& x) { x.to[1] = dimension::whole(10); },
       "the layouts: the number of processes along dimension 1 of the target" + values(std::to_string(p), "1")},
      {[](arguments& x) { std::swap(x.ranks[0], x.ranks[1]); },
       "the layouts: the rank at position 0 of the grid of the source" + values("0", "1")},
      {[](arguments& x) {
         x.stored = {0, 2, 1};
       },
       "the layouts: the dimension that is number 1 in the memory order of the source" + values("1", "2")},
      {[](arguments& x) { x.grid = storage_order::fortran; }, "the order of ranks in the grid of the source"},
      {[](arguments& x) {
         x.from.pop_back();
         x.to.pop_back();
         x.stored.pop_back();
       },
       "the layouts: the number of dimensions of the source" + values("3", "2")},
      {[](arguments& x) { x.in_one_array = true; }, "whether the array moves in its own memory" + values("0", "1")}};
  for (const wrong_argument& w : all) expect(w);
}

TEST_F(disagreement, on_what_moves_or_on_elements_names_ranks_and_values) {
  if (last_ == 0) return;
  const std::vector<wrong_argument> all{
      {[](arguments& x) {
         x.options.extents = {20, 10, 3};
       },
       "the part that moves: the extent of dimension 0" + values("-1", "20")},
      {[](arguments& x) {
         x.options.extents = {20, 10, 3};
         x.options.from_begin = {0, 0, 0};
       },
       "the part that moves: from_begin of dimension 0" + values("-1", "0")},
      {[](arguments& x) {
         x.options.axes = {0, 1, 2};
       },
       "the part that moves: the number of axes" + values("0", "3")},
      {[](arguments& x) { x.type = MPI_FLOAT; }, "the elements: the bytes of an element" + values("8", "4")},
      {[](arguments& x) { x.options.scale = 0.5; }, "the elements: the kind of the numbers"}};
  for (const wrong_argument& w : all) expect(w);
}

// More numbers than are compared at a time: bounds, and ranks.
TEST_F(disagreement, behind_many_equal_numbers_is_found) {
  if (last_ == 0) return;
  std::vector<dimension> many(30, dimension::given(std::vector<count_t>{1}));
  const auto with = [&](count_t bound) {
    std::vector<count_t> lengths(static_cast<std::size_t>(last_) + 1, 2);
    lengths.front() += bound;
    lengths.back() -= bound;
    std::vector<dimension> all = many;
    all.push_back(dimension::given(lengths));
    return all;
  };
  const layout from(with(0));
  const layout to(with(rank_ == last_ ? 1 : 0));
  std::vector<double> a(100), b(100);
  try {
    redistribute(a.data(), from, b.data(), to, MPI_DOUBLE, MPI_COMM_WORLD);
    ADD_FAILURE() << "no error";
  } catch (const usage_error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("bound 1 of the blocks of dimension 30 of the target" + values("2", "3")), std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace taquin
