// A rank whose timeout ends while others enter a call of the MPI library that they cannot abort: it sees late that all
// ranks have arrived. This process sees no news for a while: its PMPI_Test and PMPI_Testsome report that requests are
// pending, and its PMPI_Iprobe that there is no message.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <thread>

#include "support/next_function.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
constexpr std::chrono::milliseconds deaf_time{1500};

enum class deaf { never, in_reduction, in_message, in_barrier };
deaf when = deaf::never;
clock_type::time_point deaf_until;

void started(deaf what) {
  if (when != what) return;
  when = deaf::never;
  deaf_until = clock_type::now() + deaf_time;
}

}  // namespace

extern "C" int PMPI_Iallreduce(const void* from, void* to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
                               MPI_Request* r) {
  static auto* const real = taquin::test::next_function<decltype(PMPI_Iallreduce)>("PMPI_Iallreduce");
  const int code = real(from, to, n, t, op, c, r);
  started(deaf::in_reduction);
  return code;
}

extern "C" int PMPI_Ibarrier(MPI_Comm c, MPI_Request* r) {
  static auto* const real = taquin::test::next_function<decltype(PMPI_Ibarrier)>("PMPI_Ibarrier");
  const int code = real(c, r);
  started(deaf::in_barrier);
  return code;
}

extern "C" int PMPI_Isend(const void* from, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r) {
  static auto* const real = taquin::test::next_function<decltype(PMPI_Isend)>("PMPI_Isend");
  started(deaf::in_message);
  return real(from, n, t, to, tag, c, r);
}

extern "C" int PMPI_Iprobe(int from, int tag, MPI_Comm c, int* there, MPI_Status* s) {
  static auto* const real = taquin::test::next_function<decltype(PMPI_Iprobe)>("PMPI_Iprobe");
  if (clock_type::now() >= deaf_until) return real(from, tag, c, there, s);
  std::this_thread::yield();
  *there = 0;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Test(MPI_Request* r, int* done, MPI_Status* s) {
  static auto* const real = taquin::test::next_function<decltype(PMPI_Test)>("PMPI_Test");
  if (clock_type::now() >= deaf_until) return real(r, done, s);
  std::this_thread::yield();
  *done = 0;
  return MPI_SUCCESS;
}

extern "C" int PMPI_Testsome(int n, MPI_Request r[], int* done, int numbers[], MPI_Status s[]) {
  static auto* const real = taquin::test::next_function<decltype(PMPI_Testsome)>("PMPI_Testsome");
  if (clock_type::now() >= deaf_until) return real(n, r, done, numbers, s);
  std::this_thread::yield();
  *done = 0;
  return MPI_SUCCESS;
}

namespace taquin::test {
namespace {

class late_news : public testing::Test {
 protected:
  // How a call ends: rank 0 has a short timeout, and sees no news for longer.
  std::string call(std::string_view algorithm, deaf rank_0) {
    int out[2] = {rank, rank};
    int in[2] = {-1, -1};
    if (rank == 0) when = rank_0;
    std::string error;
    try {
      run(exchange::alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm),
          {.algorithm = algorithm, .on_timeout = after_timeout::fail, .timeout = rank == 0 ? 0.5F : 3.0F});
      EXPECT_EQ(in[0], 0);
      EXPECT_EQ(in[1], 1);
    } catch (const taquin::error& e) {
      error = e.what();
    }
    if (rank == 0) {
      EXPECT_EQ(when, deaf::never) << "the call has not come to it";
    }
    deaf_until = {};
    return error;
  }
  int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);  // lost to taquin where a rank has left: not freed
};

// Ranks have agreed to make a communicator. The others have not started to do so: they have their own timeouts.
TEST_F(late_news, that_all_have_come_to_the_first_call) {
  EXPECT_FALSE(call("spread_out", deaf::in_reduction).empty());
}

// They may have started to.
TEST_F(late_news, that_all_know_that_all_have_come_to_the_first_call) {
  EXPECT_EQ(call("spread_out", deaf::in_barrier), "");
}

// Ranks have agreed that the MPI library does the exchange.
TEST_F(late_news, that_all_have_come_to_a_call) {
  ASSERT_EQ(call("auto", deaf::never), "");  // the memory of the choice is there
  EXPECT_FALSE(call("native", deaf::in_message).empty());
}

TEST_F(late_news, that_all_know_that_all_have_come_to_a_call) {
  ASSERT_EQ(call("auto", deaf::never), "");
  EXPECT_EQ(call("native", deaf::in_barrier), "");
}

}  // namespace
}  // namespace taquin::test
