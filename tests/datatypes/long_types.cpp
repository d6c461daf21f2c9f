// Datatypes of many blocks: their data are right, and what taquin keeps of them is bounded.
#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>
#include <vector>

#include "datatypes/decode.hpp"
#include "support/heap_watch.hpp"
#include "support/world.hpp"
#include "taquin/datatypes.hpp"

namespace taquin::test {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

constexpr std::size_t as_size(int i) { return static_cast<std::size_t>(i); }

// Blocks of one int each at distances that no loop describes.
std::vector<int> places(int blocks) {
  std::vector<int> at(static_cast<std::size_t>(blocks));
  for (int i = 0; i < blocks; ++i) at[static_cast<std::size_t>(i)] = 3 * i + (i % 7 * (i % 7) % 7 == 1 ? 1 : 0);
  return at;
}

datatype scattered(const std::vector<int>& at) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(static_cast<int>(at.size()), 1, at.data(), MPI_INT, &made);
  MPI_Type_commit(&made);
  return datatype::from_native(made);
}

struct sizes {
  int blocks;
  std::size_t while_packed;
};
class long_types : public testing::TestWithParam<sizes> {
 protected:
  std::vector<int> at = places(GetParam().blocks);
  datatype type = scattered(at);
  std::vector<int> data = std::vector<int>(at.size() * 3 + 1);
  std::vector<int> packed = std::vector<int>(at.size(), -1);
};

TEST_P(long_types, are_packed_right_in_bounded_memory) {
  std::iota(data.begin(), data.end(), 0);
  std::size_t peak = 0;
  {
    const heap_watch deadline;
    pack(data.data(), 1, type.get(), packed.data());
    peak = heap_watch::peak();
  }
  EXPECT_LE(peak, GetParam().while_packed);
  EXPECT_EQ(packed, at);
  std::vector<int> back(data.size(), -1);
  unpack(packed.data(), back.data(), 1, type.get());
  std::size_t next = 0;
  for (std::size_t i = 0; i < back.size(); ++i) {
    const bool member = next < at.size() && static_cast<std::size_t>(at[next]) == i;
    if (member) ++next;
    ASSERT_EQ(back[i], member ? static_cast<int>(i) : -1);
  }
}

TEST_P(long_types, are_not_decoded_where_the_mpi_library_packs) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  std::vector<count_t> out(as_size(p)), in(as_size(p)), zeros(as_size(p));
  out[as_size((rank + 1) % p)] = 1;
  in[as_size((rank + p - 1) % p)] = 1;
  std::iota(data.begin(), data.end(), rank);
  std::vector<int> received(data.size(), -1);
  const exchange warm =
      exchange::alltoallv(data.data(), count_view(zeros.data()), count_view(zeros.data()), MPI_INT, received.data(),
                          count_view(zeros.data()), count_view(zeros.data()), MPI_INT, comm.get());
  run(warm, {.algorithm = "spread_out"});
  std::size_t peak = 0;
  {
    const heap_watch deadline;
    run(exchange::alltoallv(data.data(), count_view(out.data()), count_view(zeros.data()), type.get(), received.data(),
                            count_view(in.data()), count_view(zeros.data()), type.get(), comm.get()),
        {.algorithm = "spread_out"});
    peak = heap_watch::peak();
  }
  if (p > 1) {
    EXPECT_LE(peak, mebibyte);
  }
  for (const int i : at) ASSERT_EQ(received[static_cast<std::size_t>(i)], i + (rank + p - 1) % p);
}

// A type may have two blocks for each loop that they join to. Each of these has two numbers, length and displacement.
datatype with_one_longer_block(const std::vector<int>& at) {
  std::vector<int> lengths(at.size(), 1);
  lengths.front() = 2;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_indexed(static_cast<int>(at.size()), lengths.data(), at.data(), MPI_INT, &made);
  MPI_Type_commit(&made);
  return datatype::from_native(made);
}

TEST(long_types_at_the_limit, are_decoded_below_it_and_not_above) {
  for (const int blocks : {200000, 600000}) {
    const datatype type = with_one_longer_block(places(blocks));
    EXPECT_EQ(detail::decode_type(type.get()).has_value(), as_size(blocks) <= 2 * detail::most_loops) << blocks;
  }
}

// Above the limit the MPI library copies them.
TEST(long_types_at_the_limit, are_copied_to_a_type_of_other_gaps) {
  for (const int blocks : {200000, 600000}) {
    std::vector<int> at = places(blocks);
    const datatype type = with_one_longer_block(at);
    at.insert(at.begin() + 1, at.front() + 1);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(blocks + 1, 1, 2, MPI_INT, &made);
    MPI_Type_commit(&made);
    const datatype every_second = datatype::from_native(made);
    std::vector<int> from(as_size(at.back()) + 1), to(2 * at.size(), -1);
    std::iota(from.begin(), from.end(), 0);
    typed_copy(from.data(), 1, type.get(), to.data(), 1, every_second.get());
    for (std::size_t i = 0; i < at.size(); ++i) {
      ASSERT_EQ(to[2 * i], at[i]);
      ASSERT_EQ(to[2 * i + 1], -1);
    }
  }
}

TEST_P(long_types, travel_by_every_algorithm) {
  if (GetParam().blocks > 200000) GTEST_SKIP() << "takes long";
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::vector<int> sent, received(as_size(p) * data.size() + 8);
  const count_t step = element::of(type.get()).extent;
  sent.resize(received.size());
  std::iota(sent.begin(), sent.end(), 1000 * rank);
  for (const detail::algorithm* a : detail::algorithms()) {
    std::ranges::fill(received, -1);
    const exchange x = exchange::alltoall(sent.data(), 1, type.get(), received.data(), 1, type.get(), MPI_COMM_WORLD);
    try {
      run(x, {.algorithm = a->name});
    } catch (const usage_error& e) {
      ASSERT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
      continue;
    }
    for (int peer = 0; peer < p; ++peer)
      for (const int i : at) {
        const auto here = static_cast<std::size_t>(peer * step / static_cast<count_t>(sizeof(int)) + i);
        const auto there = static_cast<std::size_t>(rank * step / static_cast<count_t>(sizeof(int)) + i);
        ASSERT_EQ(received[here], 1000 * peer + static_cast<int>(there)) << a->name;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(blocks, long_types,
                         testing::Values(sizes{5000, mebibyte}, sizes{100000, 20 * mebibyte},
                                         sizes{1000000, 32 * mebibyte}),
                         [](const auto& given) { return std::to_string(given.param.blocks) + np_suffix(); });

}  // namespace
}  // namespace taquin::test
