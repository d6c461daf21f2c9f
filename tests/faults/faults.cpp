// Calls of the MPI library, and requests for memory, that fail on one rank: whatever call it is, no rank crashes, none
// writes outside its receive blocks, none waits for ever, without a timeout, and other communicators go on to work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "faults/layer.hpp"
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
  void expect_nothing_received() const {
    for (int i = 0; i < p_; ++i)
      for (int k = 0; k < per_block; ++k) EXPECT_EQ(in_[at(8 * i + 4 + k)], in_place_ ? rank_ : guard);
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

/// Fails a request of the last rank to arrive, after all ranks have returned from earlier calls.
void arm_last_rank(fault kind, int n) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1) arm(kind, n);
}

/// Calls that have ended in an error of all ranks, or of one.
struct endings {
  int of_all = 0;
  int of_one = 0;
  endings& operator+=(const endings& more) {
    of_all += more.of_all;
    of_one += more.of_one;
    return *this;
  }
};

struct faulty_call {
  const char* algorithm;
  bool in_place;
};
std::ostream& operator<<(std::ostream& to, const faulty_call& w) { return to << w.algorithm; }

class faults : public testing::TestWithParam<faulty_call> {
 protected:
  /// Fails each request of `kind` in turn, on the last rank, of a call that is the first on its communicator, or that
  /// has been made there before.
  static endings fail_each(fault kind, bool reused, bool first_call = false) {
    const auto [algorithm, in_place] = GetParam();
    endings found;
    constexpr int most = 200;
    for (int n = 0; n < most; ++n) {
      const scoped_comm comm(duplicate(MPI_COMM_WORLD));
      const auto call = [&](guarded_exchange& x, const options& o) {
        if (!reused) return run(x.given(), o);
        plan made(x.given(), o);
        made.start();
        made.wait();
      };
      for (const bool check : {false, true}) {  // makes the communicator's state, that of the general path too
        if (first_call) break;
        guarded_exchange first(comm.get(), in_place);
        call(first, {.algorithm = algorithm, .check = check});
        first.expect_right();
      }
      guarded_exchange x(comm.get(), in_place);
      std::string failed;
      ending mine = ending::right;
      arm_last_rank(kind, n);
      // A rank inside the MPI library's own call polls for no failure; with a timeout no rank waits there.
      const bool inside = kind == fault::mpi_call && std::string_view(algorithm) == "native";
      try {
        call(x, {.algorithm = algorithm, .on_timeout = after_timeout::fail, .timeout = inside ? 0.05F : 0});
      } catch (const std::exception& e) {
        failed = e.what();
        mine = ending_of(e);
      }
      const bool fired = any_rank(disarm());
      x.expect_nothing_outside();
      if (failed.empty()) x.expect_right();
      if (!fired) {
        EXPECT_EQ(failed, "") << "request " << n << " did not come";
        return found;
      }
      SCOPED_TRACE("request " + std::to_string(n) + ": " + failed);
      const std::vector<int> all = of_all_ranks(mine);
      found.of_all += all.back() == of_all ? 1 : 0;
      found.of_one += all.back() == own ? 1 : 0;
      if (!inside && !(first_call && kind == fault::mpi_call))
        expect_contract(all, x, [&] {
          guarded_exchange next(comm.get(), in_place);
          call(next, {.algorithm = algorithm});
          next.expect_right();
        });
    }
    ADD_FAILURE() << "more than " << most << " requests";
    return found;
  }

 private:
  enum ending : int { right, of_all, own, of_a_peer };
  static ending ending_of(const std::exception& e) {
    if (dynamic_cast<const peer_aborted*>(&e) != nullptr) return of_a_peer;
    const auto* const by_taquin = dynamic_cast<const error*>(&e);
    return by_taquin != nullptr && by_taquin->collective() ? of_all : own;
  }
  static std::vector<int> of_all_ranks(int mine) {
    std::vector<int> all(at(size_of(MPI_COMM_WORLD)));
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    return all;
  }

  /// An error before the agreement is that of all ranks, which have received nothing and may call again. A later one is
  /// the last rank's, where the request has failed, and of all that wait for it then.
  template <class Again>
  static void expect_contract(const std::vector<int>& all, const guarded_exchange& x, Again again) {
    const auto count = [&](int what) { return static_cast<int>(std::ranges::count(all, what)); };
    const int p = static_cast<int>(all.size());
    if (count(of_all) > 0) {
      EXPECT_EQ(count(of_all), p);
      x.expect_nothing_received();
      again();
    } else if (count(right) < p) {
      EXPECT_EQ(all.back(), own);
      EXPECT_EQ(count(own), 1) << "of the others, who are told";
    }
  }
};

TEST_P(faults, of_mpi_calls_end_in_errors) {
  endings all;
  for (const bool reused : {false, true}) all += fail_each(fault::mpi_call, reused);
  EXPECT_GT(all.of_one, 0) << "the test is of errors after the agreement";
}

TEST_P(faults, of_memory_end_in_errors) {
  for (const bool first_call : {false, true}) fail_each(fault::memory, false, first_call);
  // A plan has its own memory before ranks agree.
  EXPECT_GT(fail_each(fault::memory, true).of_all, 0) << "the test is of errors before the agreement";
  fail_each(fault::memory, true, true);
}

// Every call of one rank is late by another time.
TEST_P(faults, of_time_change_no_result) {
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
                         testing::Values(faulty_call{"auto", false}, faulty_call{"native", false},
                                         faulty_call{"spread_out", false}, faulty_call{"pairwise", false},
                                         faulty_call{"modified_bruck", false}, faulty_call{"bruck_v", false},
                                         faulty_call{"two_phase", false}, faulty_call{"node_aggregated", false},
                                         faulty_call{"shared_memory", false}, faulty_call{"in_place", true},
                                         faulty_call{"in_place_phases", true}),
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

/// Fails each request of `kind` in turn, on the last rank, while elements go to all ranks by `move(data, comm)`: behind
/// a first guard, as many as there are ranks, which come from each of them.
template <class Move>
void fail_each_of(fault kind, bool first_call, Move move) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  for (int n = 0;; ++n) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    std::vector<int> data(at(p + 2), rank);
    data.front() = data.back() = guard;
    if (!first_call) {  // which makes what the communicator has
      guarded_exchange first(comm.get(), false);
      run(first.given(), {.algorithm = "spread_out"});
    }
    bool failed = false;
    arm_last_rank(kind, n);
    try {
      move(std::span(data).subspan(1, at(p)), comm.get());
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

// By "slots" ranks find their targets by a sparse exchange; by "auto" so few blocks go another way.
void fail_each_of_redistributions(fault kind, bool first_call, std::string_view algorithm = "auto") {
  const std::vector<int> indices(at(size_of(MPI_COMM_WORLD)), rank_in(MPI_COMM_WORLD));
  std::vector<int> ranks(indices.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  fail_each_of(kind, first_call, [&](std::span<int> data, MPI_Comm comm) {
    redistribution moves(data.data(), static_cast<count_t>(data.size()), 1, MPI_INT, comm, {.algorithm = algorithm});
    moves(ranks, indices);
  });
}

// Which element goes where is the element's index. Of several arrays, which move together, the last one is looked at.
void fail_each_of_migrations(fault kind, bool first_call, std::size_t arrays = 1) {
  std::vector<int> beside(at(size_of(MPI_COMM_WORLD)));
  fail_each_of(kind, first_call, [&](std::span<int> data, MPI_Comm comm) {
    const std::array<detail::migrated_array, 2> types{{{1, MPI_INT}, {1, MPI_INT}}};
    detail::migration moves(data.size(), std::span(types).first(arrays), true, comm, {});
    std::iota(moves.destinations().begin(), moves.destinations().end(), 0);
    moves.plan(nullptr, data.size(), std::nullopt);
    moves.ready(nullptr, MPI_SUCCESS);
    const std::array<void*, 2> places{beside.data(), data.data()};
    moves.run(std::span(places).last(arrays));
  });
}

TEST(faults_of_redistributions, of_mpi_calls_end_in_errors) { fail_each_of_redistributions(fault::mpi_call, false); }
TEST(faults_of_redistributions, of_memory_end_in_errors) {
  for (const bool first_call : {false, true}) fail_each_of_redistributions(fault::memory, first_call);
}
TEST(faults_of_redistributions, of_mpi_calls_end_in_errors_where_they_ask) {
  fail_each_of_redistributions(fault::mpi_call, false, "slots");
}
TEST(faults_of_redistributions, of_memory_end_in_errors_where_they_ask) {
  for (const bool first_call : {false, true}) fail_each_of_redistributions(fault::memory, first_call, "slots");
}
TEST(faults_of_migrations, of_mpi_calls_end_in_errors) { fail_each_of_migrations(fault::mpi_call, false); }
TEST(faults_of_migrations, of_memory_end_in_errors) {
  for (const bool first_call : {false, true}) fail_each_of_migrations(fault::memory, first_call);
}
TEST(faults_of_migrations, of_mpi_calls_end_in_errors_for_several_arrays) {
  fail_each_of_migrations(fault::mpi_call, false, 2);
}
TEST(faults_of_migrations, of_memory_end_in_errors_for_several_arrays) {
  for (const bool first_call : {false, true}) fail_each_of_migrations(fault::memory, first_call, 2);
}

// The first plan on a communicator whose ranks have shared memory from earlier calls: a rank that comes late is waited
// for there, and who waits looks now and then whether it still is.
TEST(faults_of_plans, of_memory_while_a_rank_is_late_end_in_errors) {
  const int rank = rank_in(MPI_COMM_WORLD);
  constexpr int most = 200;
  for (int n = 0; n < most; ++n) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    for (int call = 0; call < 5; ++call) {
      guarded_exchange first(comm.get(), false);
      run(first.given());
    }
    guarded_exchange x(comm.get(), false);
    bool failed = false;
    arm_last_rank(fault::memory, n);
    constexpr int longer_than_between_looks = 120000;
    if (rank == 0) usleep(longer_than_between_looks);
    try {
      plan made(x.given());
      made.start();
      made.wait();
    } catch (const std::exception&) {
      failed = true;
    }
    const bool fired = any_rank(disarm());
    if (!failed) x.expect_right();
    if (!fired) {
      EXPECT_FALSE(failed);
      return;
    }
  }
  ADD_FAILURE() << "more than " << most << " requests";
}

/// Large blocks, whose algorithm ranks of several nodes choose by measuring: the MPI library's own, in which a waiting
/// rank polls for no failure, is one of the two.
void fail_each_of_choices(fault kind, bool first_call) {
  const int p = size_of(MPI_COMM_WORLD);
  constexpr int per_rank = 40000;
  const std::vector<count_t> counts(at(p), per_rank);
  std::vector<count_t> displs(at(p));
  for (int i = 0; i < p; ++i) displs[at(i)] = count_t{per_rank} * i;
  const std::vector<int> out(at(p) * per_rank, rank_in(MPI_COMM_WORLD));
  bool native = false;
  for (int n = 0;; ++n) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    std::vector<int> in(out.size(), guard);
    if (!first_call) {  // of another size: the next one is chosen anew
      guarded_exchange small(comm.get(), false);
      for (int call = 0; call < 3; ++call) run(small.given());
    }
    statistics stats;
    bool failed = false;
    arm_last_rank(kind, n);
    try {
      alltoallv(out.data(), counts.data(), displs.data(), MPI_INT, in.data(), counts.data(), displs.data(), MPI_INT,
                comm.get(), {.stats = &stats});
    } catch (const error&) {
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const bool fired = any_rank(disarm());
    native = native || stats.algorithm == "native";
    for (int i = 0; !failed && i < p; ++i) EXPECT_EQ(in[at(i) * per_rank], i);
    if (!fired) {
      EXPECT_FALSE(failed);
      break;
    }
    ASSERT_LT(n, 300);
  }
  const bool nodes = std::getenv("TAQUIN_NODES") != nullptr;
  EXPECT_TRUE(native || !nodes) << "the test is of ranks that wait inside the MPI library";
}

TEST(faults_of_choices, of_memory_end_in_errors) {
  for (const auto kind : {fault::memory, fault::no_memory})
    for (const bool first_call : {false, true}) fail_each_of_choices(kind, first_call);
}

/// Fails each request of `kind` in turn, on the last rank, while a redistribution in one array is made (which moves
/// nothing, whatever happens), or while one is made and runs.
void fail_each_of_layouts(fault kind, count_t columns, bool runs) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const layout rows({dimension::even(4 * p, p), dimension::whole(columns)});
  const layout parts({dimension::whole(4 * p), dimension::even(columns, p)});
  std::vector<int> before(at(static_cast<int>(std::max(rows.local_size(rank), parts.local_size(rank)))));
  std::iota(before.begin(), before.end(), 4 * rank * static_cast<int>(columns));
  const auto expect_moved = [&](const std::vector<int>& data) {
    const count_t corner[] = {4 * p - 1, 0};
    const auto place = parts.find(corner);
    if (place.rank != rank) return;
    EXPECT_EQ(data[at(static_cast<int>(place.offset))], (4 * p - 1) * static_cast<int>(columns));
  };
  bool kept = false;
  for (int n = 0;; ++n) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    std::vector<int> data = before;
    layout_redistribution(data.data(), rows, parts, MPI_INT, comm.get())();
    expect_moved(data);
    data = before;
    bool failed = false;
    bool on_all = false;
    std::optional<layout_redistribution> made;
    arm_last_rank(kind, n);
    try {
      made.emplace(data.data(), rows, parts, MPI_INT, comm.get());
      if (runs) (*made)();
    } catch (const error& e) {
      failed = true;
      on_all = e.collective();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const bool fired = any_rank(disarm());
    on_all = any_rank(on_all);
    EXPECT_TRUE(failed || !on_all) << "request " << n;
    EXPECT_TRUE(data == before || (runs && !on_all)) << "request " << n;
    kept = kept || on_all;
    if (!any_rank(failed)) {
      if (!runs) (*made)();
      expect_moved(data);
    }
    if (!fired) break;
    ASSERT_LT(n, 300);
  }
  EXPECT_TRUE(kept || kind != fault::memory) << "no error of all ranks was tried";
}

// Runs that are partitioned, and runs of whole pages.
TEST(faults_of_layouts, leave_the_array_where_all_ranks_have_the_error) {
  for (const count_t columns : {40, 20000})
    for (const bool runs : {false, true}) fail_each_of_layouts(fault::memory, columns, runs);
  fail_each_of_layouts(fault::mpi_call, 40, true);
}

}  // namespace
}  // namespace taquin::test
