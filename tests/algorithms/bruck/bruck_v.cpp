// bruck_v over MPI: small and large blocks, types with gaps and types per peer, blocking and reused.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "algorithms/algorithm.hpp"
#include "mpi/owned.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

class bruck_v : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &holey_);
    MPI_Type_commit(&holey_);
    MPI_Type_free(&vector);
  }
  void TearDown() override { MPI_Type_free(&holey_); }

  // Elements from one rank to another: none, few, or more than any threshold.
  static int elements(int from, int to) {
    const int code = (from * 5 + to * 3) % 7;
    return code == 6 ? 700 : code == 5 ? 0 : code;
  }

  // Every second peer has the type with gaps, on either side by its own pattern: the same ints in all.
  struct sides {
    std::vector<int> scounts, rcounts, sdispls, rdispls;  // displacements in bytes
    std::vector<MPI_Datatype> stypes, rtypes;
    std::vector<int> send, expected;
  };
  sides make() {
    sides s;
    int at = 0;
    int back = 0;
    for (int j = 0; j < ranks_; ++j) {
      const bool holes_there = j % 2 == 1;
      const bool holes_here = (rank_ + j) % 2 == 0;
      const auto add = [&](int n, bool holes, std::vector<int>& counts, std::vector<int>& displs,
                           std::vector<MPI_Datatype>& types, int& place) {
        counts.push_back(holes ? n : 2 * n);
        displs.push_back(place * static_cast<int>(sizeof(int)));
        types.push_back(holes ? holey_ : MPI_INT);
        place += (holes ? 4 : 2) * n + 1;
      };
      add(elements(rank_, j), holes_there, s.scounts, s.sdispls, s.stypes, at);
      add(elements(j, rank_), holes_here, s.rcounts, s.rdispls, s.rtypes, back);
    }
    for (int i = 0; i < at; ++i) s.send.push_back(rank_ * 100000 + i);
    s.expected.assign(static_cast<std::size_t>(back), -1);
    PMPI_Alltoallw(s.send.data(), s.scounts.data(), s.sdispls.data(), s.stypes.data(), s.expected.data(),
                   s.rcounts.data(), s.rdispls.data(), s.rtypes.data(), MPI_COMM_WORLD);
    return s;
  }

  exchange of(const sides& s, std::vector<int>& recv) {
    return exchange::alltoallw(s.send.data(), count_view(s.scounts.data()), count_view(s.sdispls.data()),
                               s.stypes.data(), recv.data(), count_view(s.rcounts.data()), count_view(s.rdispls.data()),
                               s.rtypes.data(), MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int ranks_ = 1;
  MPI_Datatype holey_ = MPI_DATATYPE_NULL;
};

TEST_F(bruck_v, exchanges_blocks_of_every_size_and_type_blocking_with_and_without_a_radix) {
  const sides s = make();
  for (const auto radix : {std::optional<int>{}, std::optional<int>{2}, std::optional<int>{3}, std::optional<int>{100}})
    for (int k = 0; k < 3; ++k) {
      std::vector<int> recv(s.expected.size(), -1);
      statistics done;
      run(of(s, recv), {.algorithm = "bruck_v", .bruck = {.radix = radix}, .stats = &done});
      EXPECT_EQ(recv, s.expected);
      EXPECT_EQ(done.algorithm, "bruck_v");
    }
}

TEST_F(bruck_v, exchanges_them_again_and_again) {
  const sides s = make();
  for (const auto radix : {std::optional<int>{}, std::optional<int>{2}}) {
    std::vector<int> recv(s.expected.size(), -1);
    plan again(of(s, recv), {.algorithm = "bruck_v", .bruck = {.radix = radix}});
    for (int k = 0; k < 3; ++k) {
      recv.assign(recv.size(), -1);
      again.start();
      while (!again.test()) {
      }
      EXPECT_EQ(recv, s.expected);
    }
  }
}

TEST_F(bruck_v, exchanges_with_the_check) {
  const sides s = make();
  std::vector<int> recv(s.expected.size(), -1);
  run(of(s, recv), {.algorithm = "bruck_v", .check = true});
  EXPECT_EQ(recv, s.expected);
}

TEST_F(bruck_v, keeps_to_the_memory_that_it_states_and_fails_on_every_rank_with_less) {
  const sides s = make();
  detail::shape sh{.ranks = ranks_, .kind = exchange::form::alltoallw, .uniform = false};
  for (int i = 0; i < ranks_; ++i) {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (int j = 0; j < ranks_; ++j) {
      const auto bytes = static_cast<std::uint64_t>(elements(i, j)) * 8;
      sh.max_block_bytes = std::max(sh.max_block_bytes, bytes);
      sent += bytes;
      received += static_cast<std::uint64_t>(elements(j, i)) * 8;
    }
    sh.max_rank_bytes = std::max(sh.max_rank_bytes, sent);
    sh.max_received_bytes = std::max(sh.max_received_bytes, received);
  }
  options o{.algorithm = "bruck_v"};
  const std::size_t elements_bytes =  // alltoallw's own
      2 * static_cast<std::size_t>(ranks_) * (sizeof(element) + sizeof(mpi::datatype));
  o.memory = detail::bruck_v.memory(sh, o) + elements_bytes;
  for (const bool reuse : {false, true}) {
    std::vector<int> recv(s.expected.size(), -1);
    if (reuse) {
      plan(of(s, recv), o).run();
    } else {
      run(of(s, recv), o);
    }
    EXPECT_EQ(recv, s.expected);
  }
  o.memory = rank_ == 0 ? o.memory - 1 : unlimited;
  std::vector<int> recv(s.expected.size(), -1);
  EXPECT_THROW(run(of(s, recv), o), budget_exceeded);
  EXPECT_THROW(plan(of(s, recv), o), budget_exceeded);
  EXPECT_EQ(recv, std::vector<int>(recv.size(), -1));
}

TEST_F(bruck_v, a_plan_with_sizes_that_differ_is_refused_on_every_rank) {
  if (ranks_ == 1) GTEST_SKIP() << "takes two";
  const auto p = static_cast<std::size_t>(ranks_);
  std::vector<int> counts(p, 1), wrong(p, 1), displs(p, 0), buffer(p + 2), recv(p + 2);
  for (std::size_t i = 0; i < p; ++i) displs[i] = static_cast<int>(i);
  if (rank_ == 0) wrong[p - 1] = 2;
  const auto x =
      exchange::alltoallv(buffer.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                          count_view(wrong.data()), count_view(displs.data()), MPI_INT, MPI_COMM_WORLD);
  EXPECT_THROW(plan(x, {.algorithm = "bruck_v"}), usage_error);
}

}  // namespace
}  // namespace taquin
