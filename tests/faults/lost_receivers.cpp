// All ranks have data for the last rank, which is lost: it aborts the call, or its process dies. No send to it may
// wait: every other rank gets an error with the lost rank and the reason, in this call or, if its part of this one was
// complete, in the next.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "base/environment.hpp"
#include "faults/layer.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

enum class kind : std::uint8_t { exchange, in_place, sparse };

struct sending_way {
  kind what;
  std::string name;
  bool direct;  ///< each rank sends its own block to the last one
};
std::ostream& operator<<(std::ostream& to, const sending_way& w) { return to << w.name; }

std::vector<sending_way> all_ways() {
  std::vector<sending_way> ways;
  for (const detail::algorithm* a : detail::algorithms()) {
    const std::string name(a->name);
    if (name == "native") continue;  // the MPI library's own, in which a rank polls for no failure
    const bool in_place = name.starts_with("in_place");
    const bool direct = in_place || name == "spread_out" || name == "pairwise" || name == "one_factor";
    ways.push_back({in_place ? kind::in_place : kind::exchange, name, direct});
  }
  ways.push_back({kind::sparse, "auto", false});
  for (const detail::sparse_algorithm* a : detail::sparse_algorithms())
    ways.push_back({kind::sparse, std::string(a->name), false});
  return ways;
}

std::string name_of(const testing::TestParamInfo<sending_way>& info) {
  return (info.param.what == kind::sparse ? "sparse_" : "") + info.param.name + np_suffix();
}

/// One rank's part.
class call_to_last {
 public:
  call_to_last(sending_way w, MPI_Comm comm, int count)
      : way_(std::move(w)), comm_(comm), p_(size_of(comm)), rank_(rank_in(comm)), sends_(rank_ < p_ - 1) {
    const count_t n = count;
    out_.assign(detail::as_size(count), rank_);
    in_.assign(detail::as_size(count * p_), -1);
    counts_.assign(detail::as_size(p_), 0);
    if (sends_) counts_.back() = n;
    room_.assign(detail::as_size(p_), sends_ ? 0 : n);
    room_.back() = 0;
    zeros_.assign(detail::as_size(p_), 0);
    for (int i = 0; i < p_; ++i) places_.push_back(sends_ ? 0 : n * i);
    if (sends_) std::ranges::copy(out_, in_.begin());
  }
  /// The part that follows from the arguments alone; false if the algorithm does not serve them.
  bool prepare() {
    if (way_.what == kind::sparse) return true;
    made_ = plan_if_served(given(), {.algorithm = way_.name});
    return made_.has_value();
  }
  void run() {
    if (way_.what != kind::sparse) {
      made_->start();
      return made_->wait();
    }
    const std::vector<int> to(sends_ ? 1 : 0, p_ - 1);
    const count_t n = counts_.back();
    sparse_call(sparse_blocks{out_.data(), to, count_view(&n), MPI_INT}, comm_, {.algorithm = way_.name})
        .receive(in_.data());
  }
  void start_and_destroy() {
    made_->start();
    made_.reset();
  }
  [[nodiscard]] bool right() const {
    for (int i = 0; !sends_ && i < p_ - 1; ++i)
      for (std::size_t k = 0; k < out_.size(); ++k)
        if (in_[detail::as_size(i) * out_.size() + k] != i) return false;
    return true;
  }

 private:
  exchange given() {
    const auto counts = count_view(counts_.data());
    const auto buffer = count_view(room_.data());
    const auto places = count_view(places_.data());
    if (way_.what == kind::in_place)
      return exchange::alltoallv_in_place(in_.data(), counts, count_view(zeros_.data()), buffer, places, MPI_INT,
                                          comm_);
    return exchange::alltoallv(out_.data(), counts, count_view(zeros_.data()), MPI_INT, in_.data(), buffer, places,
                               MPI_INT, comm_);
  }
  sending_way way_;
  MPI_Comm comm_;
  int p_, rank_;
  bool sends_;
  std::vector<int> out_, in_;
  std::vector<count_t> counts_, room_, zeros_, places_;
  std::optional<plan> made_;
};

/// How a call ended.
struct ending {
  bool well = false;
  std::string wrong;  ///< the error is none of those that are stated
};

class lost_receivers : public testing::TestWithParam<sending_way> {
 protected:
  int p = size_of(MPI_COMM_WORLD);
  int rank = rank_in(MPI_COMM_WORLD);
  int last = p - 1;

  /// `reported` before: this rank has had an error on the communicator.
  template <class Call>
  ending end_of(Call call, bool reported, bool dead) const {
    try {
      call();
      return {true, reported ? "ends well on a communicator that is lost" : ""};
    } catch (const peer_failed& e) {
      const bool names = e.ranks() == std::vector<int>{last};
      return {false, dead && names ? "" : std::string("says ") + e.what()};
    } catch (const peer_aborted& e) {
      const bool names = e.rank() == last && !e.reason().empty() && e.mpi_class() == MPI_ERR_OTHER;
      return {false, !reported && !dead && names && rank != last ? "" : std::string("says ") + e.what()};
    } catch (const usage_error& e) {
      return {false, reported && e.mpi_class() == MPI_ERR_COMM ? "" : std::string("says ") + e.what()};
    } catch (const mpi_error& e) {
      return {false, !reported && rank == last ? "" : std::string("says ") + e.what()};
    }
  }

  [[nodiscard]] static bool served() {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    call_to_last x(GetParam(), comm.get(), 2);
    try {
      if (!x.prepare()) return false;
      x.run();
      return true;
    } catch (const usage_error& e) {  // sparse exchanges, on all ranks
      if (std::string_view(e.what()).find("serve") == std::string_view::npos) throw;
      return false;
    }
  }

  /// The last rank leaves at its n-th call of the MPI library; false where it has made fewer.
  bool leave_at(int n, int count) const {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    call_to_last first(GetParam(), comm.get(), count);
    EXPECT_TRUE(first.prepare());
    first.run();  // makes what the communicator has
    EXPECT_TRUE(first.right());
    call_to_last x(GetParam(), comm.get(), count);
    EXPECT_TRUE(x.prepare());
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) arm(fault::mpi_call, n);
    const ending here = end_of([&] { x.run(); }, false, false);
    const bool fired = any_rank(disarm());
    EXPECT_EQ(here.wrong, "") << "call " << n << ", " << count << " elements";
    if (!fired) {
      EXPECT_TRUE(here.well && x.right());
      return false;
    }
    constexpr int rendezvous = 100000;
    if (n == 0 && count >= rendezvous && GetParam().direct) {
      EXPECT_FALSE(here.well) << "what was sent cannot have been received";
    }
    expect_lost(comm.get(), !here.well, count);
    return true;
  }

  /// A notified rank, or one that has aborted, is refused; another is notified now.
  void expect_lost(MPI_Comm comm, bool reported, int count) const {
    call_to_last second({kind::exchange, "auto", false}, comm, count);
    const ending next = end_of(
        [&] {
          if (second.prepare()) second.run();
        },
        reported, false);
    EXPECT_EQ(next.wrong, "") << "afterwards; " << count << " elements";
    EXPECT_FALSE(next.well);
  }
};

TEST_P(lost_receivers, that_have_left_are_named) {
  if (std::getenv("TAQUIN_TEST_DEATH") != nullptr) GTEST_SKIP() << "ends the job";
  if (!served()) return;
  instruments::idle_is_right = detail::environment::get().shared_memory;  // where a call may make no MPI call at all
  constexpr int most = 30;
  for (const int count : {2, 100000}) {
    int left = 0;
    while (left < most && leave_at(left, count) && !any_rank(HasFailure())) ++left;
    if (!detail::environment::get().shared_memory) {
      EXPECT_GT(left, 0) << "a test of no loss";
    }
  }
}

// The last rank destroys a started plan before others have started theirs, so that its part cannot be complete.
TEST_P(lost_receivers, that_destroy_a_started_plan_are_named) {
  if (std::getenv("TAQUIN_TEST_DEATH") != nullptr) GTEST_SKIP() << "ends the job";
  if (GetParam().what == kind::sparse || !served()) return;
  for (const int count : {2, 100000}) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    call_to_last x(GetParam(), comm.get(), count);
    ASSERT_TRUE(x.prepare());
    MPI_Barrier(MPI_COMM_WORLD);
    ending here{false, ""};
    if (rank == last) x.start_and_destroy();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != last) here = end_of([&] { x.run(); }, false, false);
    EXPECT_EQ(here.wrong, "") << count << " elements";
    if (count > 2 && GetParam().direct) {
      EXPECT_FALSE(here.well) << "what was sent cannot have been received";
    }
    expect_lost(comm.get(), !here.well, count);
  }
}

// All but the last rank, by messages between two at a time. A rank that ends its process before counts as dead.
void meet_without(int last, int rank) {
  int word = 0;
  for (int r = 1; r < last && rank == 0; ++r) MPI_Recv(&word, 1, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int r = 1; r < last && rank == 0; ++r) MPI_Send(&word, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
  if (rank == 0) return;
  MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Run with TAQUIN_TEST_DEATH=n: the last rank ends at its n-th step. If the MPI library survives, the others are
// notified; else the launcher ends the job.
TEST_P(lost_receivers, that_have_died_are_named) {
  const char* const when = std::getenv("TAQUIN_TEST_DEATH");
  if (when == nullptr) GTEST_SKIP() << "ends the job";
  constexpr int count = 100000;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  call_to_last x(GetParam(), comm, count);
  ASSERT_TRUE(x.prepare());
  x.run();
  EXPECT_TRUE(x.right());
  MPI_Barrier(comm);
  if (rank == last) at_step(std::atoi(when), [] { kill(getpid(), SIGKILL); });
  ending end{true, ""};
  constexpr int starts = 1000;  // sends that are complete before the failure is known
  for (int k = 0; k < starts && end.well; ++k) end = end_of([&] { x.run(); }, false, true);
  EXPECT_EQ(end.wrong, "");
  EXPECT_FALSE(end.well);
  meet_without(last, rank);
  std::cout << "rank " << rank << (HasFailure() ? ": WRONG" : ": told") << std::endl;
  _exit(HasFailure() ? 1 : 0);  // MPI_Finalize may wait for the dead
}

INSTANTIATE_TEST_SUITE_P(all, lost_receivers, testing::ValuesIn(all_ways()), name_of);

}  // namespace
}  // namespace taquin::test
