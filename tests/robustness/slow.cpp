// Slow is not dead: a rank that is stopped is reported and waited for, and its call is valid when it goes on; calls
// whose ranks come late, each by some time of its own, end well and leave nothing behind. Nothing goes by how long it
// takes.
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

int number(const char* variable, int otherwise) {
  const char* const requested = std::getenv(variable);
  return requested == nullptr ? otherwise : std::stoi(requested);
}

enum class library { taquin, mpi };

// A call of any kind with data that follow from `call`: true if the received data are right. By the MPI library: the
// same with separate buffers.
bool one_call(int call, MPI_Comm comm, library whose = library::taquin) {
  const int p = size_of(comm);
  const int rank = rank_in(comm);
  const int n = call % 3 == 0 ? 1 : call % 3 == 1 ? 300 : 20000;
  const auto blocks = static_cast<std::size_t>(p * n);
  std::vector<int> data(blocks);
  const auto value = [&](int from, int to, int k) { return call + 1000 * from + 100 * to + k % 7; };
  for (std::size_t k = 0; k < blocks; ++k) data[k] = value(rank, static_cast<int>(k) / n, static_cast<int>(k) % n);
  std::vector<int> in(blocks);
  const std::vector<count_t> counts(static_cast<std::size_t>(p), n);
  std::vector<count_t> places(counts.size(), 0);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), count_t{0});
  if (whose == library::mpi) {
    MPI_Alltoall(data.data(), n, MPI_INT, in.data(), n, MPI_INT, comm);
  } else if (call % 2 == 0) {
    run(exchange::alltoall(data.data(), n, MPI_INT, in.data(), n, MPI_INT, comm));
  } else {
    in = data;
    alltoallv_in_place(in.data(), counts.data(), places.data(), counts.data(), places.data(), MPI_INT, comm);
  }
  for (std::size_t k = 0; k < blocks; ++k)
    if (in[k] != value(static_cast<int>(k) / n, rank, static_cast<int>(k) % n)) return false;
  return true;
}

// With TAQUIN_TIMEOUT the others say whom they wait for; the test's output is looked at for that.
TEST(slow_is_not_dead, a_rank_that_is_stopped_in_a_call_goes_on_with_it) {
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  constexpr unsigned stopped = 4;  // seconds
  for (int call = 0; call < 6; ++call) {
    ASSERT_TRUE(one_call(call, comm.get()));
    if (call == 2 && rank_in(comm.get()) == size_of(comm.get()) - 1) {
      const pid_t self = getpid();
      const pid_t child = fork();
      if (child == 0) {
        kill(self, SIGSTOP);
        sleep(stopped);
        kill(self, SIGCONT);
        _exit(0);
      }
      ASSERT_GT(child, 0);
      // It may go on into the next call before it is stopped, or be stopped here.
      EXPECT_TRUE(one_call(100, comm.get()));
      waitpid(child, nullptr, 0);
    } else if (call == 2) {
      EXPECT_TRUE(one_call(100, comm.get()));
    }
  }
}

// The sum of what the slowest rank of each call slept: no call of all ranks can end before. `nights`: of this rank.
double sum_of_slowest(std::vector<double> nights, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, nights.data(), static_cast<int>(nights.size()), MPI_DOUBLE, MPI_MAX, comm);
  return std::reduce(nights.begin(), nights.end());
}

// TAQUIN_TEST_CALLS: how many; the suite makes few. TAQUIN_TEST_NATIVE=1: by the MPI library, to compare.
TEST(slow_is_not_dead, calls_whose_ranks_come_late_end_well_and_leave_nothing) {
  const int calls = number("TAQUIN_TEST_CALLS", 60);
  const library whose = number("TAQUIN_TEST_NATIVE", 0) == 1 ? library::mpi : library::taquin;
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  std::mt19937 random(static_cast<unsigned>(rank_in(comm.get())));
  constexpr unsigned most = 50000;  // microseconds
  std::size_t before = 0;
  std::vector<double> requested(static_cast<std::size_t>(calls)), slept(requested.size());
  MPI_Barrier(comm.get());
  const double begin = MPI_Wtime();
  for (int call = 0; call < calls; ++call) {
    const auto late = static_cast<useconds_t>(random() % most);
    const double now = MPI_Wtime();
    usleep(late);
    requested[static_cast<std::size_t>(call)] = late * 1e-6;
    slept[static_cast<std::size_t>(call)] = MPI_Wtime() - now;
    ASSERT_TRUE(one_call(call, comm.get(), whose)) << "call " << call;
    if (call == calls / 2) before = mallinfo2().uordblks;  // all that is kept has been made
  }
  const double seconds = MPI_Wtime() - begin;
  const double nominal = sum_of_slowest(requested, comm.get());
  const double real = sum_of_slowest(slept, comm.get());
  if (rank_in(comm.get()) == 0)
    printf("%d calls in %.2f s; the slowest ranks of all calls meant to sleep %.2f s, and slept %.2f s\n", calls,
           seconds, nominal, real);
  constexpr std::size_t slack = 256 << 10U;  // of the MPI library, for messages that came early
  EXPECT_LE(mallinfo2().uordblks, before + slack);
}

}  // namespace
}  // namespace taquin::test
