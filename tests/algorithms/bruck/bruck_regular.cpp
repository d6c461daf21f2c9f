// The regular Bruck algorithms over MPI, in every layout and radix, against the MPI library.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <random>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

constexpr std::array family{"basic_bruck", "modified_bruck", "zero_copy_bruck", "lean_bruck"};
constexpr std::array layouts{bruck_layout::automatic, bruck_layout::indexed, bruck_layout::regular,
                             bruck_layout::elements,  bruck_layout::blocks,  bruck_layout::packed};

struct type_pair {
  MPI_Datatype send, recv;
  int sendcount, recvcount;
  std::size_t send_ints, recv_ints;  // that one block spans
};

// Two ints with a gap between them and one behind.
MPI_Datatype holey() {
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&vector);
  return resized;
}

class bruck_regular : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    holey_ = holey();
  }
  void TearDown() override { MPI_Type_free(&holey_); }

  void compare(const type_pair& t, const options& o, bool reuse) {
    const auto p = static_cast<std::size_t>(ranks_);
    std::vector<int> send(t.send_ints * p);
    std::mt19937 random(static_cast<unsigned>(rank_) + 1);  // all bytes differ from rank to rank
    for (int& v : send) v = static_cast<int>(random());
    std::vector<int> expected(t.recv_ints * p, -1);
    std::vector<int> recv = expected;
    PMPI_Alltoall(send.data(), t.sendcount, t.send, expected.data(), t.recvcount, t.recv, MPI_COMM_WORLD);
    const auto x =
        exchange::alltoall(send.data(), t.sendcount, t.send, recv.data(), t.recvcount, t.recv, MPI_COMM_WORLD);
    const std::vector<int> before = send;
    if (!reuse) {
      run(x, o);
      EXPECT_EQ(recv, expected);
    } else {
      plan again(x, o);
      for (int k = 0; k < 2; ++k) {
        recv.assign(recv.size(), -1);
        again.start();
        while (!again.test()) {
        }
        EXPECT_EQ(recv, expected);
      }
    }
    EXPECT_EQ(send, before);
  }

  int rank_ = 0;
  int ranks_ = 1;
  MPI_Datatype holey_ = MPI_DATATYPE_NULL;
};

TEST_F(bruck_regular, gives_the_mpi_librarys_result_in_every_layout) {
  const std::vector<type_pair> types{
      {MPI_INT, MPI_INT, 3, 3, 3, 3}, {MPI_INT, MPI_INT, 1, 1, 1, 1}, {MPI_INT, MPI_INT, 1000, 1000, 1000, 1000},
      {MPI_INT, holey_, 4, 2, 4, 8},  {holey_, MPI_INT, 2, 4, 8, 4},  {holey_, holey_, 1, 1, 4, 4}};
  for (const char* name : family)
    for (const auto layout : layouts)
      for (const int radix : {2, 3})
        for (const auto& t : types)
          for (const bool reuse : {false, true}) {
            SCOPED_TRACE(testing::Message() << name << " layout " << static_cast<int>(layout) << " radix " << radix);
            compare(t, {.algorithm = name, .bruck = {.radix = radix, .layout = layout}}, reuse);
          }
}

// Blocks that lie one before the other: Open MPI 4.1 takes vectors with a stride of minus one byte for ascending ones.
TEST_F(bruck_regular, serves_equal_blocks_in_any_order) {
  const auto p = static_cast<std::size_t>(ranks_);
  for (const char* name : family)
    for (const auto layout : layouts)
      for (const int count : {1, 2}) {
        SCOPED_TRACE(testing::Message() << name << " layout " << static_cast<int>(layout) << " bytes " << count);
        std::vector<unsigned char> send(p * static_cast<std::size_t>(count));
        std::mt19937 random(static_cast<unsigned>(rank_) + 1);
        for (auto& v : send) v = static_cast<unsigned char>(random());
        std::vector<unsigned char> expected(send.size());
        std::vector<unsigned char> recv(send.size());
        const std::vector<int> counts(p, count);
        std::vector<int> down(p);
        for (int i = 0; i < ranks_; ++i) down[static_cast<std::size_t>(i)] = (ranks_ - 1 - i) * count;
        PMPI_Alltoallv(send.data(), counts.data(), down.data(), MPI_BYTE, expected.data(), counts.data(), down.data(),
                       MPI_BYTE, MPI_COMM_WORLD);
        const auto x =
            exchange::alltoallv(send.data(), count_view(counts.data()), count_view(down.data()), MPI_BYTE, recv.data(),
                                count_view(counts.data()), count_view(down.data()), MPI_BYTE, MPI_COMM_WORLD);
        run(x, {.algorithm = name, .bruck = {.layout = layout}});
        EXPECT_EQ(recv, expected);
      }
}

TEST_F(bruck_regular, keeps_to_the_memory_that_it_states) {
  for (const char* name : family)
    for (const auto layout : layouts) {
      const detail::shape s{.ranks = ranks_,
                            .uniform = true,
                            .max_block_bytes = 40,
                            .max_rank_bytes = 40U * static_cast<unsigned>(ranks_)};
      options o{.algorithm = name, .bruck = {.layout = layout}};
      o.memory = detail::find_algorithm(name)->memory(s, o);
      compare({MPI_INT, MPI_INT, 10, 10, 10, 10}, o, true);
      std::vector<int> send(10 * static_cast<std::size_t>(ranks_)), recv(send.size(), -1);
      o.memory -= 1;
      EXPECT_THROW(alltoall(send.data(), 10, MPI_INT, recv.data(), 10, MPI_INT, MPI_COMM_WORLD, o), budget_exceeded);
      EXPECT_EQ(recv, std::vector<int>(recv.size(), -1));
    }
}

TEST_F(bruck_regular, refuses_a_radix_below_2_on_every_rank) {
  int send[64] = {};
  int recv[64] = {};
  for (const int radix : {1, 0, -3}) {
    const options o{.algorithm = "zero_copy_bruck", .bruck = {.radix = rank_ == ranks_ - 1 ? radix : 2}};
    EXPECT_THROW(alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, o), usage_error);
  }
}

TEST_F(bruck_regular, refuses_alltoall_with_counts_that_differ) {
  int send[64] = {};
  int recv[64] = {};
  const int count = rank_ == 0 ? 2 : 1;
  if (ranks_ > 1) {
    EXPECT_THROW(alltoall(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD), usage_error);
  }
  EXPECT_THROW(alltoall(send, 1, MPI_INT, recv, 2, MPI_INT, MPI_COMM_WORLD), usage_error);
}

}  // namespace
}  // namespace taquin
