// A rank has no memory for the blocks that it receives in a sparse exchange, or lacks memory from then on, once or in
// many consecutive calls: sparse exchanges that follow, there and on other communicators, are right.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "faults/layer.hpp"
#include "support/world.hpp"
#include "taquin/taquin.h"

namespace taquin::test {
namespace {

/// The memory of one call, of which a request fails, or after which requests of the library fail.
struct provider {
  int fails = -1;  // the number of the request
  int armed = -1;  // after the last request, so many of the library's succeed
  int requests = 0;
  std::vector<void*> given{};

  provider() { given.reserve(3); }
  provider(const provider&) = delete;
  provider& operator=(const provider&) = delete;
  ~provider() {
    for (void* p : given) std::free(p);
  }
  static void* allocate(std::size_t bytes, void* context) {
    auto& self = *static_cast<provider*>(context);
    const int number = self.requests++;
    if (number == self.fails) return nullptr;
    self.given.push_back(std::malloc(bytes > 0 ? bytes : 1));
    if (number == 2 && self.armed >= 0) arm(fault::no_memory, self.armed);
    return self.given.back();
  }
};

/// Each rank sends a block to all; returns the code of the call. `per_block` ints.
int exchange_in(provider& into, MPI_Comm comm, int per_block, bool& right) {
  const int p = size_of(comm);
  const int rank = rank_in(comm);
  std::vector<int> to(at(p));
  std::vector<MPI_Count> counts(at(p), per_block);
  std::vector<int> data(at(p * per_block));
  for (int i = 0; i < p; ++i) {
    to[at(i)] = i;
    for (int k = 0; k < per_block; ++k) data[at(i * per_block + k)] = rank * 1000 + i;
  }
  int incoming = 0;
  int* sources = nullptr;
  MPI_Count* received = nullptr;
  int* values = nullptr;
  const int code = TAQUIN_Sparse_exchange(data.data(), p, to.data(), counts.data(), MPI_INT, comm, provider::allocate,
                                          &into, &incoming, &sources, &received, static_cast<void*>(&values));
  disarm();
  right = code == MPI_SUCCESS && incoming == p;
  for (int i = 0; right && i < p; ++i)
    for (int k = 0; k < per_block; ++k)
      right = right && sources[i] == i && received[i] == per_block && values[i * per_block + k] == i * 1000 + rank;
  return code;
}

class sparse_rooms : public testing::TestWithParam<const detail::sparse_algorithm*> {
 protected:
  MPI_Comm usable() const {
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    TAQUIN_Options o = TAQUIN_OPTIONS_INIT;
    const std::string name(GetParam()->name);
    o.algorithm = name.c_str();
    TAQUIN_Comm_set_options(comm, &o);
    return comm;
  }
  static void expect_right(MPI_Comm comm, int per_block) {
    provider all;
    bool right = false;
    EXPECT_EQ(exchange_in(all, comm, per_block, right), MPI_SUCCESS);
    EXPECT_TRUE(right);
  }

  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
};

constexpr int turns = 24;

TEST_P(sparse_rooms, that_one_rank_lacks_are_its_error_and_later_exchanges_are_right) {
  for (const int per_block : {1, 3000}) {
    const scoped_comm comm(usable());
    for (int turn = 0; turn < turns; ++turn) {
      provider r;
      const bool lacks = rank == turn / 3 % p;
      if (lacks) r.fails = turn % 3;
      bool right = false;
      const int code = exchange_in(r, comm.get(), per_block, right);
      EXPECT_TRUE(lacks ? code != MPI_SUCCESS : code != MPI_SUCCESS || right) << "turn " << turn;
      if (turn % 8 == 7) expect_right(comm.get(), per_block);
    }
  }
}

TEST_P(sparse_rooms, after_which_one_rank_lacks_memory_leave_other_communicators_usable) {
  const scoped_comm other(usable());
  for (const int per_block : {1, 3000})
    for (int turn = 0; turn < turns; ++turn) {
      const scoped_comm comm(usable());
      if (turn % 3 != 0) expect_right(comm.get(), per_block);
      MPI_Barrier(MPI_COMM_WORLD);
      provider r;
      if (rank == turn % p) r.armed = turn / 3;
      bool right = false;
      const int code = exchange_in(r, comm.get(), per_block, right);
      EXPECT_EQ(code == MPI_SUCCESS, right) << "turn " << turn;
      expect_right(other.get(), per_block);
    }
}

std::vector<const detail::sparse_algorithm*> served() {
  std::vector<const detail::sparse_algorithm*> all;
  for (const auto* a : detail::sparse_algorithms())
    if (a->find != nullptr) all.push_back(a);
  return all;
}

INSTANTIATE_TEST_SUITE_P(algorithms, sparse_rooms, testing::ValuesIn(served()),
                         [](const auto& given) { return std::string(given.param->name) + np_suffix(); });

}  // namespace
}  // namespace taquin::test
