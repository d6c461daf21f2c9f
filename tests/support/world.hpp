// Common parts of the MPI tests: the ranks, the list of tests, and one exchange from filling to comparison.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/algorithm.hpp"
#include "support/problem.hpp"
#include "taquin/taquin.hpp"

namespace taquin::test {

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  return size;
}

/// Fewer cases: where a waiting MPI library does not yield the core, tests with more ranks than cores crawl.
inline bool brief() { return std::getenv("TAQUIN_TEST_BRIEF") != nullptr; }

inline std::string np_suffix() { return "_np" + std::to_string(size_of(MPI_COMM_WORLD)); }

/// "spread_out_np4"
inline std::string algorithm_test_name(const testing::TestParamInfo<const detail::algorithm*>& info) {
  return std::string(info.param->name) + np_suffix();
}

/// A plan by this algorithm, or nothing if the algorithm does not serve the exchange, the same on all ranks.
inline std::optional<plan> plan_if_served(const exchange& x, const options& o) {
  try {
    return plan(x, o);
  } catch (const usage_error& e) {
    if (std::string_view(e.what()).find("does not serve") == std::string_view::npos) throw;
    return std::nullopt;
  }
}

/// The communicator of a scope: freed by all ranks at its end.
class scoped_comm {
 public:
  explicit scoped_comm(MPI_Comm comm) : comm_(comm) {}
  scoped_comm(const scoped_comm&) = delete;
  scoped_comm& operator=(const scoped_comm&) = delete;
  ~scoped_comm() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  void free() { MPI_Comm_free(&comm_); }

 private:
  MPI_Comm comm_;
};

inline MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  return copy;
}

/// True on all ranks when it is on any.
inline bool any_rank(bool mine, MPI_Comm comm = MPI_COMM_WORLD) {
  int any = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm);
  return any != 0;
}

/// Runs `x` blocking and twice from one plan, each time with other data, and looks at every byte. False when the
/// algorithm does not serve it.
inline bool exchange_is_right(const problem& x, MPI_Comm comm, options o) {
  rank_buffers mine(x, rank_in(comm));
  auto prepared = plan_if_served(mine.given_to(comm), o);
  if (!prepared) return false;
  mine.fill(1);
  run(mine.given_to(comm), o);
  EXPECT_EQ(mine.wrong_bytes(), 0U) << "blocking";
  for (int start = 2; start < 4; ++start) {
    mine.fill(start);
    prepared->start();
    if (start == 2) prepared->wait();
    while (!prepared->test()) {
    }
    EXPECT_EQ(mine.wrong_bytes(), 0U) << "start " << start - 1 << " of a plan";
  }
  return true;
}

}  // namespace taquin::test
