// Bounded vectors, circular vectors and buckets: as datatypes and as loops, against their definitions.
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <vector>

#include "taquin/datatypes.hpp"
#include "taquin/error.hpp"
#include "taquin/exchange.hpp"

namespace taquin {
namespace {

// Two ints and a gap.
datatype holey() {
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &resized);
  MPI_Type_free(&vector);
  MPI_Type_commit(&resized);
  return datatype::from_native(resized);
}

// The layout over `base` holds the elements `members`, in this order, of `spanned`.
template <class Layout>
void expect_layout(const Layout& layout, const std::vector<int>& members, int spanned, MPI_Datatype base) {
  const element e = element::of(base);
  const auto ints = static_cast<std::size_t>(e.extent) / sizeof(int);
  const auto per_element = static_cast<std::size_t>(e.size) / sizeof(int);
  const std::size_t step = per_element == 1 ? 1 : 2;  // a gap after each int of the holey type
  std::vector<int> from(static_cast<std::size_t>(spanned) * ints + 1);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i) + 1000;
  std::vector<int> expected;
  std::vector<int> scattered(from.size(), -1);
  for (const int m : members)
    for (std::size_t k = 0; k < per_element; ++k) {
      const std::size_t at = static_cast<std::size_t>(m) * ints + k * step;
      expected.push_back(from[at]);
      scattered[at] = from[at];
    }
  ASSERT_EQ(elements(layout), static_cast<count_t>(members.size()));

  std::vector<int> mine(expected.size(), -1);
  pack(layout, from.data(), base, mine.data());
  EXPECT_EQ(mine, expected);
  std::vector<int> back(from.size(), -1);
  unpack(layout, expected.data(), back.data(), base);
  EXPECT_EQ(back, scattered);

  const datatype type = make_datatype(layout, base);
  const element whole = element::of(type.get());
  EXPECT_EQ(whole.extent, spanned * e.extent);
  std::vector<int> theirs(expected.size() + 1, -1);
  int position = 0;
  MPI_Pack(from.data(), 1, type.get(), theirs.data(), static_cast<int>(theirs.size() * sizeof(int)), &position,
           MPI_COMM_SELF);
  theirs.resize(expected.size());
  EXPECT_EQ(theirs, expected);
}

TEST(layouts, bounded_vectors_hold_the_elements_of_their_definition) {
  const datatype other = holey();
  for (int bound = 0; bound <= 14; ++bound)
    for (int block = 1; block <= 4; ++block)
      for (int stride = block; stride <= 6; ++stride)
        for (const MPI_Datatype base : {MPI_INT, other.get()}) {
          SCOPED_TRACE(testing::Message() << bound << ' ' << block << ' ' << stride);
          std::vector<int> members;
          for (int i = 0; i < bound; ++i)
            if (i % stride < block) members.push_back(i);
          expect_layout(bounded_vector{bound, block, stride}, members, bound, base);
        }
}

TEST(layouts, circular_vectors_hold_the_elements_of_their_definition) {
  const datatype other = holey();
  for (int extent = 1; extent <= 11; ++extent)
    for (int bound = 0; bound <= extent; ++bound)
      for (int start = 0; start < extent; ++start)
        for (int block = 1; block <= 4; ++block)
          for (int stride = block; stride <= 6; ++stride) {
            SCOPED_TRACE(testing::Message() << extent << ' ' << bound << ' ' << start << ' ' << block << ' ' << stride);
            std::vector<int> members;
            for (int i = 0; i < bound; ++i)
              if (i % stride < block) members.push_back((start + i) % extent);
            expect_layout(circular_vector{extent, bound, start, block, stride}, members, extent,
                          (extent + start) % 2 == 0 ? MPI_INT : other.get());
          }
}

TEST(layouts, buckets_hold_the_front_of_each) {
  const datatype other = holey();
  for (int code = 0; code < 4 * 4 * 4 * 4; ++code) {
    const std::vector<count_t> counts{code % 4, code / 4 % 4, code / 16 % 4, code / 64};
    std::vector<int> members;
    for (std::size_t b = 0; b < counts.size(); ++b)
      for (int i = 0; i < counts[b]; ++i) members.push_back(static_cast<int>(b) * 3 + i);
    expect_layout(bucket{3, counts}, members, 12, code % 2 == 0 ? MPI_INT : other.get());
  }
}

TEST(layouts, impossible_figures_are_refused) {
  int from[4] = {};
  int to[4] = {};
  const count_t much[] = {5};
  EXPECT_THROW(pack(bounded_vector{4, 0, 1}, from, MPI_INT, to), usage_error);
  EXPECT_THROW(pack(bounded_vector{4, 2, 1}, from, MPI_INT, to), usage_error);
  EXPECT_THROW(pack(bounded_vector{-1, 1, 1}, from, MPI_INT, to), usage_error);
  EXPECT_THROW(pack(circular_vector{3, 4, 0, 1, 1}, from, MPI_INT, to), usage_error);
  EXPECT_THROW(pack(circular_vector{3, 3, 3, 1, 1}, from, MPI_INT, to), usage_error);
  EXPECT_THROW(pack(bucket{4, much}, from, MPI_INT, to), usage_error);
  EXPECT_THROW(static_cast<void>(make_datatype(bounded_vector{4, 1, 2}, MPI_DATATYPE_NULL)), usage_error);
}

}  // namespace
}  // namespace taquin
