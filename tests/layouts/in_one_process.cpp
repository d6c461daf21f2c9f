// Chunks between all ranks of random layouts, in one process, against a flat oracle.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "layouts/access.hpp"
#include "layouts/chunk_walk.hpp"
#include "layouts/copy_chunk.hpp"
#include "layouts/problems.hpp"
#include "layouts/shape.hpp"

namespace taquin::detail {
namespace {

using test::layout_case;

// Moves everything; chunks of at most so many elements and runs.
layout_case::arrays moved(const layout_case& c, count_t elements, std::size_t runs) {
  auto from = c.before();
  auto to = c.empty(c.to);
  layout_shape shape(c.from.made, c.to.made, c.options, std::pmr::new_delete_resource());
  const std::size_t n = c.from.dimensions.size();
  chunk_walk walk(shape.problem, elements, runs, std::pmr::new_delete_resource());
  chunk_copier copier(n, c.element, std::pmr::new_delete_resource());
  std::vector<std::byte> message(static_cast<std::size_t>(elements) * c.element);
  std::vector<int> sender(n);
  std::vector<int> receiver(n);
  for (int r = 0; r < c.ranks; ++r)
    for (int s = 0; s < c.ranks; ++s) {
      shape.sender(r, sender);
      shape.receiver(s, receiver);
      if (sender.front() == outside_grid || receiver.front() == outside_grid) continue;
      local_side there(n, std::pmr::new_delete_resource());
      local_side here(n, std::pmr::new_delete_resource());
      shape.set_from(here, r, static_cast<count_t>(c.element));
      shape.set_to(there, s, static_cast<count_t>(c.element));
      if (!walk.begin(sender, receiver)) continue;
      const auto source = here.at(from[static_cast<std::size_t>(r)].data());
      const auto target = there.at(to[static_cast<std::size_t>(s)].data());
      do {
        RC_ASSERT(walk.elements() >= 1);
        RC_ASSERT(walk.elements() <= elements);
        if (r == s) {
          copier.copy(walk, source, target);
        } else {
          copier.pack(walk, source, message.data());
          copier.unpack(walk, message.data(), target);
        }
      } while (walk.next());
    }
  return to;
}

RC_GTEST_PROP(layouts_in_one_process, every_element_goes_to_its_place, ()) {
  auto pick = [](int a, int b) { return *rc::gen::inRange(a, b + 1); };
  const layout_case c = test::some_case(pick, pick(1, 13));
  const int elements = pick(0, 1) == 0 ? pick(1, 30) : 1000;
  const int runs = pick(1, 20);
  RC_ASSERT(moved(c, elements, static_cast<std::size_t>(runs)) == c.after());
}

// find() and the oracle know the same place.
RC_GTEST_PROP(layouts_in_one_process, every_element_is_found, ()) {
  auto pick = [](int a, int b) { return *rc::gen::inRange(a, b + 1); };
  const layout_case c = test::some_case(pick, pick(1, 13));
  const std::size_t n = c.from.dimensions.size();
  std::vector<count_t> index(n, 0);
  for (const auto& want : c.from.places()) {
    const auto got = c.from.made.find(index);
    RC_ASSERT(got.rank == want.rank);
    RC_ASSERT(got.offset == want.offset);
    for (std::size_t d = n; d-- > 0;) {
      if (++index[d] < c.from.dimensions[d].extent) break;
      index[d] = 0;
    }
  }
}

// Elements are in the given order; the processes always have the last dimension first, as MPI says.
TEST(layouts_in_one_process, darray_has_the_order_of_mpi) {
  const std::vector<int> extents{6, 4}, kinds{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, processes{2, 2};
  const std::vector<int> usual(2, MPI_DISTRIBUTE_DFLT_DARG);
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    const layout made = layout::darray(extents, kinds, usual, processes, order);
    for (count_t i = 0; i < 6; ++i)
      for (count_t j = 0; j < 4; ++j) {
        const std::vector<count_t> index{i, j};
        const auto at = made.find(index);
        EXPECT_EQ(at.rank, static_cast<int>(i / 3 * 2 + j / 2));
        EXPECT_EQ(at.offset, order == MPI_ORDER_C ? i % 3 * 2 + j % 2 : i % 3 + j % 2 * 3);
      }
  }
}

TEST(layouts_in_one_process, darray_refuses_blocks_that_do_not_cover) {
  const std::vector<int> extents{12};
  const std::vector<int> kinds{MPI_DISTRIBUTE_BLOCK};
  const std::vector<int> processes{3};
  const auto reason = [&](int block) {
    const std::vector<int> blocks{block};
    return layout::darray(extents, kinds, blocks, processes, MPI_ORDER_C).invalid_on(3);
  };
  EXPECT_EQ(reason(4), "");
  EXPECT_EQ(reason(7), "");
  EXPECT_EQ(reason(3), "dimension 0: the given blocks cover 0 to 9 of 12 indices");
}

}  // namespace
}  // namespace taquin::detail
