// Blocking calls in which nothing moves between ranks: ranks meet in few of them, and data that come later arrive.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/some_problem.hpp"
#include "support/world.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/plan.hpp"

namespace taquin::test {
namespace {

using form = exchange::form;

class ranks_with_nothing : public ::testing::Test {
 protected:
  void SetUp() override { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  void TearDown() override { MPI_Comm_free(&comm_); }

  // One call with `bytes(from, to)` bytes from each to each; own blocks too. Everything is compared.
  template <class Bytes>
  void call(form kind, Bytes bytes, std::string_view algorithm = "auto", bool narrow = false) {
    std::vector<count_t> scounts, sdispls, rcounts, rdispls;
    std::vector<int> narrow_scounts, narrow_sdispls, narrow_rcounts, narrow_rdispls;
    count_t sent = 0;
    count_t received = 0;
    ++calls_;
    for (int peer = 0; peer < p_; ++peer) {
      scounts.push_back(bytes(rank_, peer)), sdispls.push_back(sent), sent += scounts.back();
      rcounts.push_back(bytes(peer, rank_)), rdispls.push_back(received), received += rcounts.back();
    }
    std::vector<unsigned char> send, recv(static_cast<std::size_t>(received) + 1, 0xee), expected;
    for (int peer = 0; peer < p_; ++peer)
      send.insert(send.end(), static_cast<std::size_t>(std::max<count_t>(scounts[index(peer)], 0)), value(rank_, peer));
    for (int peer = 0; peer < p_; ++peer)
      expected.insert(expected.end(), static_cast<std::size_t>(std::max<count_t>(rcounts[index(peer)], 0)),
                      value(peer, rank_));
    expected.push_back(0xee);
    send.push_back(0);
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(p_), MPI_BYTE);
    const auto ints = [](const std::vector<count_t>& v) { return std::vector<int>(v.begin(), v.end()); };
    narrow_scounts = ints(scounts), narrow_sdispls = ints(sdispls);
    narrow_rcounts = ints(rcounts), narrow_rdispls = ints(rdispls);
    const auto view = [&](const std::vector<count_t>& wide, const std::vector<int>& few) {
      return narrow ? count_view(few.data()) : count_view(wide.data());
    };
    const count_view sc = view(scounts, narrow_scounts), sd = view(sdispls, narrow_sdispls);
    const count_view rc = view(rcounts, narrow_rcounts), rd = view(rdispls, narrow_rdispls);
    const options o{.algorithm = algorithm, .memory = memory_, .stats = &stats_};
    if (kind == form::alltoall)
      run(exchange::alltoall(send.data(), scounts[0], MPI_BYTE, recv.data(), scounts[0], MPI_BYTE, comm_), o);
    else if (kind == form::alltoallv)
      run(exchange::alltoallv(send.data(), sc, sd, MPI_BYTE, recv.data(), rc, rd, MPI_BYTE, comm_), o);
    else
      run(exchange::alltoallw(send.data(), sc, sd, types.data(), recv.data(), rc, rd, types.data(), comm_), o);
    ASSERT_EQ(recv, expected) << fmt::format("call {}, form {}", calls_, static_cast<int>(kind));
  }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] unsigned char value(int from, int to) const {
    return static_cast<unsigned char>(31 * from + 7 * to + calls_);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int p_ = size_of(MPI_COMM_WORLD);
  int rank_ = rank_in(MPI_COMM_WORLD);
  int calls_ = 0;
  std::size_t memory_ = unlimited;
  statistics stats_;
};

constexpr auto nothing = [](int, int) { return count_t{0}; };
constexpr auto own = [](int from, int to) { return count_t{from == to ? 40 : 0}; };

// The first rank goes through many of them while the others have not begun: it need not meet them.
TEST_F(ranks_with_nothing, do_not_wait_for_each_other) {
  for (int i = 0; i < 12; ++i) call(form::alltoallw, i % 2 == 0 ? nothing : own);  // the sixth need not meet
  if (p_ == 1) return;
  int meets = 0;
  for (int i = 0; i < 200; ++i) {
    call(form::alltoallw, own, "auto", i % 2 == 0);
    meets += stats_.algorithm == "native" ? 0 : 1;
  }
  EXPECT_LT(meets, 8);
}

TEST_F(ranks_with_nothing, have_data_again_whatever_their_size_and_form) {
  std::mt19937 random(1);  // the same on all ranks
  for (int i = 0; i < 400; ++i) {
    const auto kind = static_cast<form>(i % 40 < 20 ? i / 40 % 3 : random() % 3);
    const unsigned what = i % 40 < 8 ? 0 : random() % 8;  // rows that begin, and others
    const count_t most = count_t{1} << (random() % 18);
    if (random() % 16 == 0 && rank_ == static_cast<int>(random() % 3)) usleep(200);
    if (what < 5 || kind == form::alltoall)
      call(kind, what % 2 == 0 || kind == form::alltoall ? [](int, int) { return count_t{0}; } : own);
    else if (what == 5)
      call(kind, [&](int from, int to) { return from == 0 && to == p_ - 1 ? most : 0; });
    else if (what == 6)
      call(kind, [&](int from, int to) { return (from * 5 + to * 3 + i) % 4 == 0 ? most : 0; });
    else
      call(
          kind, [&](int from, int) { return from == i % p_ ? most : 0; }, i % 3 == 0 ? "pairwise" : "auto");
  }
}

TEST_F(ranks_with_nothing, take_no_memory_of_a_call_that_allows_none) {
  memory_ = 0;
  try {
    for (int k = 0; k < 20; ++k) call(form::alltoallv, nothing);
  } catch (const budget_exceeded& e) {
    GTEST_SKIP() << "messages need memory: " << e.what();
  }
  stats_ = {};
  call(form::alltoallv, [](int from, int to) { return count_t{from == to ? 0 : 900}; });
  EXPECT_EQ(stats_.peak_memory, 0U) << stats_.algorithm;
}

TEST_F(ranks_with_nothing, may_make_plans_and_equal_blocks_between) {
  for (int i = 0; i < 60; ++i) {
    call(form::alltoallv, nothing);
    if (i % 7 == 3) call(form::alltoall, [&](int, int) { return count_t{i}; });
    if (i % 11 == 5) {
      std::vector<int> a(static_cast<std::size_t>(p_), rank_), b(static_cast<std::size_t>(p_), -1);
      plan x(exchange::alltoall(a.data(), 1, MPI_INT, b.data(), 1, MPI_INT, comm_));
      x.run();
      for (int peer = 0; peer < p_; ++peer) EXPECT_EQ(b[index(peer)], peer);
    }
  }
}

// In such a row nobody can be told at once; the others are told where they meet.
TEST_F(ranks_with_nothing, learn_at_their_next_meeting_of_a_wrong_argument) {
  if (p_ == 1) return;
  for (int i = 0; i < 8; ++i) call(form::alltoallw, nothing);  // 6 to 21 need no meeting
  MPI_Barrier(comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  if (rank_ == 0) {
    try {
      call(form::alltoallw, [&](int from, int to) { return count_t{from == 0 && to == p_ - 1 ? -5 : 0}; });
      FAIL() << "a negative count";
    } catch (const usage_error& e) {
      EXPECT_FALSE(e.collective());
      EXPECT_EQ(e.rank(), 0);
    }
    EXPECT_THROW(call(form::alltoallw, nothing), usage_error);  // the communicator is lost to it
  } else {
    bool told = false;
    for (int i = 0; i < 400 && !told; ++i) {
      try {
        call(form::alltoallw, nothing);
      } catch (const peer_left&) {
        told = true;
      }
    }
    EXPECT_TRUE(told);
  }
}

}  // namespace
}  // namespace taquin::test
