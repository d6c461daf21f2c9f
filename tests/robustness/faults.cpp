// Calls of the MPI library, and requests for memory, that fail on one rank: whatever call it is, no rank crashes, none
// writes outside its receive blocks, none waits beyond its timeout, and other communicators go on to work.
#include "faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

constexpr int guard = -77;
constexpr int per_block = 3;

/// An exchange of blocks of `per_block` ints with guards around them, in its own buffers or in place.
class guarded_exchange {
 public:
  guarded_exchange(MPI_Comm comm, bool in_place)
      : comm_(comm),
        in_place_(in_place),
        rank_(rank_in(comm)),
        p_(size_of(comm)),
        counts_(at(p_), per_block),
        displs_(at(p_)),
        out_(at(p_ * 8 + 8), rank_),
        in_(at(p_ * 8 + 8), guard) {
    for (int i = 0; i < p_; ++i) displs_[at(i)] = 8 * i + 4;
    for (int i = 0; in_place && i < p_; ++i) std::fill_n(&in_[at(8 * i + 4)], per_block, rank_);
  }
  [[nodiscard]] exchange given() {
    const auto counts = count_view(counts_.data());
    const auto displs = count_view(displs_.data());
    if (in_place_) return exchange::alltoallv_in_place(in_.data(), counts, displs, counts, displs, MPI_INT, comm_);
    return exchange::alltoallv(out_.data(), counts, displs, MPI_INT, in_.data(), counts, displs, MPI_INT, comm_);
  }
  void expect_right() const {
    for (int i = 0; i < p_; ++i)
      for (int k = 0; k < per_block; ++k) EXPECT_EQ(in_[at(8 * i + 4 + k)], i);
  }
  void expect_nothing_outside() const {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const bool inside = i >= 4 && (i - 4) % 8 < per_block && (i - 4) / 8 < at(p_);
      if (!inside && in_[i] != guard) FAIL() << "int " << i << " is in no receive block";
    }
  }

 private:
  MPI_Comm comm_;
  bool in_place_;
  int rank_;
  int p_;
  std::vector<count_t> counts_, displs_;
  std::vector<int> out_, in_;
};

struct way {
  const char* algorithm;
  bool in_place;
};
std::ostream& operator<<(std::ostream& to, const way& w) { return to << w.algorithm; }

class faults : public testing::TestWithParam<way> {
 protected:
  /// Fails each request of `kind` in turn, on the last rank, of a call that has no other one before it. How many there
  /// are.
  int fail_each(fault kind, bool reused) const {
    const auto [algorithm, in_place] = GetParam();
    constexpr int most = 200;
    for (int n = 0; n < most; ++n) {
      const scoped_comm comm(duplicate(MPI_COMM_WORLD));
      const auto call = [&](guarded_exchange& x, const options& o) {
        if (!reused) return run(x.given(), o);
        plan made(x.given(), o);
        made.start();
        made.wait();
      };
      for (const bool check : {false, true}) {  // makes what the communicator has, the long way too
        guarded_exchange first(comm.get(), in_place);
        call(first, {.algorithm = algorithm, .check = check});
        first.expect_right();
      }
      guarded_exchange x(comm.get(), in_place);
      options o{.algorithm = algorithm, .on_timeout = after_timeout::fail, .timeout = 0.05F};
      bool failed = false;
      if (rank_in(comm.get()) == size_of(comm.get()) - 1) arm(kind, n);
      try {
        call(x, o);
      } catch (const error& e) {
        failed = true;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      const bool fired = any_rank(disarm());
      x.expect_nothing_outside();
      if (!failed) x.expect_right();
      if (!fired) {
        EXPECT_FALSE(failed);
        return n;
      }
    }
    ADD_FAILURE() << "more than " << most << " requests";
    return most;
  }
};

TEST_P(faults, of_mpi_calls_end_in_errors) {
  for (const bool reused : {false, true}) fail_each(fault::mpi_call, reused);
}

TEST_P(faults, of_memory_end_in_errors) {
  for (const bool reused : {false, true}) fail_each(fault::memory, reused);
}

// Every call of one rank is late by another time.
TEST_P(faults, of_time_change_nothing) {
  const auto [algorithm, in_place] = GetParam();
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  for (int turn = 0; turn < 5; ++turn) {
    guarded_exchange x(comm.get(), in_place);
    guarded_exchange y(comm.get(), in_place);
    if (turn % size_of(comm.get()) == rank_in(comm.get())) arm(fault::delay, turn);
    run(x.given(), {.algorithm = algorithm});
    plan made(y.given(), {.algorithm = algorithm});
    made.start();
    made.wait();
    disarm();
    x.expect_right();
    y.expect_right();
    x.expect_nothing_outside();
    y.expect_nothing_outside();
  }
}

INSTANTIATE_TEST_SUITE_P(algorithms, faults,
                         testing::Values(way{"auto", false}, way{"spread_out", false}, way{"pairwise", false},
                                         way{"modified_bruck", false}, way{"bruck_v", false}, way{"two_phase", false},
                                         way{"node_aggregated", false}, way{"shared_memory", false},
                                         way{"in_place", true}, way{"in_place_phases", true}),
                         [](const auto& given) { return given.param.algorithm + np_suffix(); });

// Run with TAQUIN_TEST_DEATH=n: the last rank's process ends in its n-th call of the MPI library. The launcher ends the
// others, whatever they wait for.
TEST(death, of_a_rank_ends_the_job) {
  const char* const when = std::getenv("TAQUIN_TEST_DEATH");
  if (when == nullptr) GTEST_SKIP() << "ends the job";
  guarded_exchange x(MPI_COMM_WORLD, false);
  run(x.given());
  if (rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1) arm(fault::death, std::atoi(when));
  for (int turn = 0; turn < 100; ++turn)
    for (const char* algorithm : {"auto", "pairwise", "bruck_v", "node_aggregated"}) {
      plan made(x.given(), {.algorithm = algorithm});
      made.start();
      made.wait();
      run(x.given(), {.algorithm = algorithm});
    }
}

// Run with TAQUIN_TIMEOUT=0.05,fail.
TEST(faults_of_redistributions, end_in_errors) {
  if (std::getenv("TAQUIN_TIMEOUT") == nullptr) GTEST_SKIP() << "redistributions have their timeout from there";
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  std::vector<int> ranks(at(p)), indices(at(p), rank);
  std::iota(ranks.begin(), ranks.end(), 0);
  for (const fault kind : {fault::mpi_call, fault::memory})
    for (int n = 0;; ++n) {
      const scoped_comm comm(duplicate(MPI_COMM_WORLD));
      std::vector<int> data(at(p + 2), rank);
      data.front() = data.back() = guard;
      {  // which makes what the communicator has
        guarded_exchange first(comm.get(), false);
        run(first.given(), {.algorithm = "spread_out", .timeout = 100});
      }
      bool failed = false;
      std::fill_n(data.begin() + 1, p, rank);
      if (rank == p - 1) arm(kind, n);
      try {
        redistribution moves(data.data() + 1, p, 1, MPI_INT, comm.get());
        moves(ranks, indices);
      } catch (const error&) {
        failed = true;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      const bool fired = any_rank(disarm());
      EXPECT_EQ(data.front(), guard);
      EXPECT_EQ(data.back(), guard);
      for (int i = 0; !failed && i < p; ++i) EXPECT_EQ(data[at(i + 1)], i);
      if (!fired) break;
      ASSERT_LT(n, 200);
    }
}

}  // namespace
}  // namespace taquin::test
