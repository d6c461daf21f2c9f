// bruck_v and zero_copy_bruck_v over MPI: small and large blocks, types with gaps and types per peer, blocking and
// reused.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "algorithms/algorithm.hpp"
#include "mpi/owned.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

class irregular : public testing::TestWithParam<const detail::algorithm*> {
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

  // Elements from one rank to another: none, few, or more than go in log rounds.
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
      const bool gaps_there = j % 2 == 1;
      const bool gaps_here = (rank_ + j) % 2 == 0;
      const auto add = [&](int n, bool gaps, std::vector<int>& counts, std::vector<int>& displs,
                           std::vector<MPI_Datatype>& types, int& place) {
        counts.push_back(gaps ? n : 2 * n);
        displs.push_back(place * static_cast<int>(sizeof(int)));
        types.push_back(gaps ? holey_ : MPI_INT);
        place += (gaps ? 4 : 2) * n + 1;
      };
      add(elements(rank_, j), gaps_there, s.scounts, s.sdispls, s.stypes, at);
      add(elements(j, rank_), gaps_here, s.rcounts, s.rdispls, s.rtypes, back);
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

  static std::string_view name() { return GetParam()->name; }

  int rank_ = 0;
  int ranks_ = 1;
  MPI_Datatype holey_ = MPI_DATATYPE_NULL;
};

TEST_P(irregular, exchanges_blocks_of_every_size_and_type_blocking_with_and_without_a_radix) {
  const sides s = make();
  for (const auto radix : {std::optional<int>{}, std::optional<int>{2}, std::optional<int>{3}, std::optional<int>{100}})
    for (int k = 0; k < 3; ++k) {
      std::vector<int> recv(s.expected.size(), -1);
      statistics done;
      run(of(s, recv), {.algorithm = name(), .bruck = {.radix = radix}, .stats = &done});
      EXPECT_EQ(recv, s.expected);
      EXPECT_EQ(done.algorithm, name());
    }
}

TEST_P(irregular, exchanges_them_again_and_again) {
  const sides s = make();
  for (const auto radix : {std::optional<int>{}, std::optional<int>{2}}) {
    std::vector<int> recv(s.expected.size(), -1);
    plan again(of(s, recv), {.algorithm = name(), .bruck = {.radix = radix}});
    for (int k = 0; k < 3; ++k) {
      recv.assign(recv.size(), -1);
      again.start();
      while (!again.test()) {
      }
      EXPECT_EQ(recv, s.expected);
    }
  }
}

TEST_P(irregular, exchanges_with_the_check) {
  const sides s = make();
  std::vector<int> recv(s.expected.size(), -1);
  run(of(s, recv), {.algorithm = name(), .check = true});
  EXPECT_EQ(recv, s.expected);
}

TEST_P(irregular, keeps_to_the_memory_that_it_states_and_fails_on_every_rank_with_less) {
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
  options o{.algorithm = name()};
  const std::size_t elements_bytes =  // alltoallw's own
      2 * static_cast<std::size_t>(ranks_) * (sizeof(element) + sizeof(mpi::datatype));
  o.memory = GetParam()->memory(sh, o) + elements_bytes;
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

TEST_P(irregular, a_plan_with_sizes_that_differ_is_refused_on_every_rank) {
  if (ranks_ == 1) GTEST_SKIP() << "takes two";
  const auto p = static_cast<std::size_t>(ranks_);
  std::vector<int> counts(p, 1), wrong(p, 1), displs(p, 0), buffer(p + 2), recv(p + 2);
  for (std::size_t i = 0; i < p; ++i) displs[i] = static_cast<int>(i);
  if (rank_ == 0) wrong[p - 1] = 2;
  const auto x =
      exchange::alltoallv(buffer.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                          count_view(wrong.data()), count_view(displs.data()), MPI_INT, MPI_COMM_WORLD);
  EXPECT_THROW(plan(x, {.algorithm = name()}), usage_error);
}

INSTANTIATE_TEST_SUITE_P(bruck_v, irregular, testing::Values(&detail::bruck_v));
INSTANTIATE_TEST_SUITE_P(zero_copy_bruck_v, irregular, testing::Values(&detail::zero_copy_bruck_v));

// Blocks of up to 1 KiB travel in log rounds in blocking calls as in plans, without direct messages beside the rounds.
TEST(bruck_v, sends_blocks_of_a_kilobyte_in_log_rounds_in_blocking_calls_too) {
  int rank = 0;
  int p = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const auto bytes = [](int from, int to) { return 257 + (371 * from + 113 * to) % 768; };
  std::vector<int> out, in, at;
  for (int j = 0; j < p; ++j) at.push_back(j * 1024), out.push_back(bytes(rank, j)), in.push_back(bytes(j, rank));
  const std::vector<char> sent(static_cast<std::size_t>(p) * 1024, static_cast<char>(rank + 1));
  const auto messages = [&](bool reuse) {
    std::vector<char> received(sent.size());
    const auto x =
        exchange::alltoallv(sent.data(), count_view(out.data()), count_view(at.data()), MPI_CHAR, received.data(),
                            count_view(in.data()), count_view(at.data()), MPI_CHAR, MPI_COMM_WORLD);
    statistics done;
    const options o{.algorithm = "bruck_v", .bruck = {.radix = 2}, .stats = &done};
    if (reuse) {
      plan(x, o).run();
    } else {
      run(x, o);
    }
    for (int j = 0; j < p; ++j)
      for (int i = 0; i < 1024; ++i)
        EXPECT_EQ(received[static_cast<std::size_t>(j * 1024 + i)], i < bytes(j, rank) ? j + 1 : 0);
    return done.messages;
  };
  EXPECT_EQ(messages(false), messages(true));
}

// The copies that taquin makes, of blocks of 50 to 100 bytes: bruck_v packs each block whenever it travels;
// zero_copy_bruck_v copies the rank's own block alone, and sends the sizes in as many messages as the data.
TEST(zero_copy_bruck_v, copies_nothing_but_the_own_block_and_doubles_the_messages) {
  int rank = 0;
  int p = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const auto bytes = [](int from, int to) { return 50 + (7 * from + 13 * to) % 51; };
  std::vector<int> out, in, out_at, in_at;
  for (int j = 0; j < p; ++j) {
    out_at.push_back(j * 101), in_at.push_back(j * 101);
    out.push_back(bytes(rank, j)), in.push_back(bytes(j, rank));
  }
  const std::vector<char> sent(static_cast<std::size_t>(p) * 101, static_cast<char>(rank + 1));
  std::vector<char> received(sent.size());
  const auto x =
      exchange::alltoallv(sent.data(), count_view(out.data()), count_view(out_at.data()), MPI_CHAR, received.data(),
                          count_view(in.data()), count_view(in_at.data()), MPI_CHAR, MPI_COMM_WORLD);
  std::uint64_t rounds = 0;
  while ((1 << rounds) < p) ++rounds;
  for (const bool reuse : {false, true}) {
    received.assign(received.size(), 0);
    statistics done;
    const options o{.algorithm = "zero_copy_bruck_v", .bruck = {.radix = 2}, .stats = &done};
    if (reuse) {
      plan(x, o).run();
    } else {
      run(x, o);
    }
    for (int j = 0; j < p; ++j)
      for (int i = 0; i < 101; ++i)
        ASSERT_EQ(received[static_cast<std::size_t>(j * 101 + i)], i < bytes(j, rank) ? j + 1 : 0);
    EXPECT_EQ(done.bytes_copied, static_cast<std::uint64_t>(bytes(rank, rank)));
    EXPECT_EQ(done.messages, reuse ? rounds : 2 * rounds);
    if (p > 1) {
      EXPECT_EQ(done.rounds, reuse ? rounds : 2 * rounds);
    }
    statistics packed;
    run(x, {.algorithm = "bruck_v", .stats = &packed});
    EXPECT_TRUE(p == 1 || packed.bytes_copied > 2 * done.bytes_copied) << "the instrument counts copies";
  }
}

}  // namespace
}  // namespace taquin
