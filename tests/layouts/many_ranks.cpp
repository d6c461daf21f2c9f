// Layouts on 100000 ranks, in bounded memory: a rank's intersections with others, the elements that move, relabelling.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "layouts/access.hpp"
#include "layouts/common.hpp"
#include "layouts/shape.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {
namespace {

constexpr int ranks = 100000;
using dims = std::vector<dimension>;

// Lists of pairs of ranks would not fit.
class layouts_on_many_ranks : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit some = before_;
    some.rlim_cur = rlim_t{1} << 30U;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &some), 0);
  }
  void TearDown() override { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

struct move_of_layouts {
  layout from;
  layout to;
  layout_options options{};

  // All elements of the rank, by its peers.
  [[nodiscard]] count_t elements_of(int rank, bool sends) const {
    const layout_shape shape(from, to, options, std::pmr::new_delete_resource());
    const layout_peers peers(shape, from, to, options, rank, sends);
    count_t all = 0;
    count_t count = 0;
    peers.each([&](int peer, count_t elements) {
      EXPECT_GE(peer, 0);
      EXPECT_LT(peer, ranks);
      EXPECT_GT(elements, 0);
      all += elements;
      ++count;
    });
    EXPECT_EQ(count, peers.count());
    return all;
  }
};

std::vector<move_of_layouts> moves() {
  std::vector<move_of_layouts> all;
  all.push_back({layout(dims{dimension::even(200000, ranks), dimension::whole(150000)}),
                 layout(dims{dimension::whole(200000), dimension::even(150000, ranks)})});
  all.push_back({layout(dims{dimension::block_cyclic(1000000, 250, 64), dimension::block_cyclic(999999, 400, 32)}),
                 layout(dims{dimension::block_cyclic(1000000, 400, 100), dimension::cyclic(999999, 250)})});
  all.push_back({layout(dims{dimension::cyclic(3000000, ranks), dimension::whole(10)}),
                 layout(dims{dimension::whole(10), dimension::even(3000000, ranks)}),
                 {.axes = {1, 0}}});
  all.push_back({layout(dims{dimension::even(4096, 250), dimension::even(4096, 400), dimension::whole(4096)}),
                 layout(dims{dimension::even(4096, 250), dimension::whole(4096), dimension::even(4096, 400)})});
  return all;
}

TEST_F(layouts_on_many_ranks, have_the_elements_of_a_rank_in_common_with_its_peers) {
  for (const move_of_layouts& m : moves())
    for (const int rank : {0, 1, 399, 400, 49999, ranks - 1}) {
      const auto owned = [&](const layout& l) {
        const auto extents = l.local_extents(rank);
        return std::accumulate(extents.begin(), extents.end(), count_t{1}, std::multiplies<>());
      };
      EXPECT_EQ(m.elements_of(rank, true), owned(m.from));
      EXPECT_EQ(m.elements_of(rank, false), owned(m.to));
    }
}

TEST_F(layouts_on_many_ranks, know_what_moves) {
  const auto all = moves();
  // Slabs: rank r keeps its 2 rows of its 1 or 2 columns.
  EXPECT_EQ(elements_moved(all[0].from, all[0].to), count_t{200000} * 150000 - 2 * count_t{150000});
  for (const move_of_layouts& m : all) {
    const count_t moved = elements_moved(m.from, m.to, m.options);
    const layout better = m.to.relabelled(m.from, ranks, m.options);
    EXPECT_LE(elements_moved(m.from, better, m.options), moved);
    EXPECT_TRUE(better.invalid_on(ranks).empty());
  }
}

TEST_F(layouts_on_many_ranks, that_differ_by_a_permutation_of_ranks_move_nothing_when_relabelled) {
  const dims blocks{dimension::block_cyclic(100000, 250, 32), dimension::even(100000, 400)};
  const layout from(blocks);
  const layout to(blocks, storage_order::c, storage_order::fortran);
  EXPECT_GT(elements_moved(from, to), 0);
  EXPECT_EQ(elements_moved(from, to.relabelled(from, ranks)), 0);
}

// Each rank of a row shares one index with each position of the row, and two with one of them: 10^7 pairs.
TEST_F(layouts_on_many_ranks, keep_the_heaviest_pairs_where_not_all_are_looked_at) {
  const layout from(dims{dimension::even(2000, 1000), dimension::even(10100, 100)});
  const layout to(dims{dimension::even(2000, 1000), dimension::cyclic(10100, 100)}, storage_order::c,
                  storage_order::fortran);
  const layout better = to.relabelled(from, ranks);
  EXPECT_EQ(elements_moved(from, better), count_t{2000} * 10100 - count_t{ranks} * 2 * 2);
}

TEST_F(layouts_on_many_ranks, stay_as_they_are_where_all_pairs_are_equal) {
  const layout from(dims{dimension::whole(3 * ranks), dimension::even(3 * ranks, ranks)});
  layout to(dims{dimension::even(3 * ranks, ranks), dimension::whole(3 * ranks)});
  std::vector<int> reversed(ranks);
  for (int k = 0; k < ranks; ++k) reversed[static_cast<std::size_t>(k)] = ranks - 1 - k;
  to.on_ranks(reversed);
  const layout same = to.relabelled(from, ranks);
  for (const int rank : {0, 1, 777, ranks - 1}) EXPECT_EQ(same.coordinates(rank), to.coordinates(rank));
  EXPECT_EQ(elements_moved(from, to), count_t{9} * ranks * (ranks - 1));
}

// As relabelling leaves them: position k is on any rank, and half of the ranks are in no grid.
TEST_F(layouts_on_many_ranks, know_the_position_of_each_rank) {
  const layout in_order(dims{dimension::even(1000, 250), dimension::even(1000, 200)});
  std::vector<int> of_positions(50000);
  std::vector<int> position(ranks, -1);
  for (int k = 0; k < 50000; ++k) {
    const int rank = static_cast<int>(count_t{k} * 7919 % ranks);
    of_positions[static_cast<std::size_t>(k)] = rank;
    position[static_cast<std::size_t>(rank)] = k;
  }
  layout l = in_order;
  l.on_ranks(of_positions);
  ASSERT_EQ(l.invalid_on(ranks), "");
  for (int rank = 0; rank < ranks; ++rank) {
    const int k = position[static_cast<std::size_t>(rank)];
    ASSERT_EQ(l.coordinates(rank), k < 0 ? std::vector({-1, -1}) : std::vector({k / 200, k % 200})) << rank;
  }
  EXPECT_EQ(l.coordinates(ranks), std::vector({-1, -1}));
  EXPECT_EQ(layout_access::bytes(l), layout_access::bytes(in_order) + 2 * of_positions.size() * sizeof(int));
}

}  // namespace
}  // namespace taquin::detail
