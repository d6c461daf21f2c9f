#include "node/detect.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "taquin/taquin.hpp"

namespace {
int bindings_set = 0;
}

// Of this program and its libraries.
extern "C" int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t* processors) noexcept {
  ++bindings_set;
  return static_cast<int>(syscall(SYS_sched_setaffinity, thread, bytes, processors));
}

namespace taquin::detail {
namespace {

struct world {
  world() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  int rank = 0;
  int ranks = 1;
};

// Moving over all cores takes long if they are busy: a rank waited in it for a minute.
TEST(nodes, are_found_out_without_moving_the_process) {
  bindings_set = 0;
  const cpu_set_t all = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  EXPECT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(bindings_set, 1);  // they are counted
  binding_of_process();
  EXPECT_EQ(bindings_set, 1);
}

void exchange_one_each(const options& o) {
  const world w;
  std::vector<int> send(static_cast<std::size_t>(w.ranks), w.rank);
  std::vector<int> recv(send.size(), -1);
  alltoall(std::span<const int>(send), std::span(recv), MPI_COMM_WORLD, o);
  for (int i = 0; i < w.ranks; ++i) EXPECT_EQ(recv[static_cast<std::size_t>(i)], i);
}

std::string message_of(const options& o) {
  try {
    exchange_one_each(o);
  } catch (const usage_error& e) {
    return e.what();
  }
  return {};
}

TEST(nodes, ranks_of_one_machine_share_a_node) {
  const world w;
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  const auto view = nodes_of(comm, {});
  EXPECT_EQ(view->topology.nodes().groups(), 1);
  EXPECT_EQ(view->topology.nodes().size(0), w.ranks);
  EXPECT_EQ(nodes_of(comm, {}), view) << "found out twice";
}

TEST(nodes, given_sizes_are_taken_and_kept) {
  const world w;
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  std::vector<int> sizes(1, 1);
  if (w.ranks > 1) sizes.push_back(w.ranks - 1);
  const auto view = nodes_of(comm, sizes);
  EXPECT_EQ(view->topology, topology::of_sizes(sizes));
  EXPECT_EQ(nodes_of(comm, sizes), view);
  int local = 0;
  MPI_Comm_size(view->local.get(), &local);
  EXPECT_EQ(local, w.rank == 0 ? 1 : w.ranks - 1);
  exchange_one_each({.algorithm = "one_factor", .nodes = sizes});
}

TEST(nodes, that_do_not_cover_the_communicator_fail_on_every_rank) {
  const world w;
  const std::array sizes{w.ranks, 1};
  EXPECT_NE(message_of({.nodes = sizes}).find("on nodes"), std::string::npos);
  const std::array negative{w.ranks + 1, -1};
  EXPECT_NE(message_of({.nodes = negative}).find("a node of -1 ranks"), std::string::npos);
  exchange_one_each({});
}

TEST(nodes, that_differ_between_ranks_fail_on_every_rank) {
  const world w;
  if (w.ranks == 1) GTEST_SKIP() << "one rank cannot differ";
  std::vector<int> sizes{1, w.ranks - 1};
  if (w.rank == 0) sizes = {w.ranks};
  EXPECT_NE(message_of({.nodes = sizes}).find("disagree"), std::string::npos);
  exchange_one_each({});
}

TEST(nodes, belong_to_the_communicator_that_was_asked_for) {
  const world w;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, w.rank % 2, -w.rank, &half);
  {
    const auto view = nodes_of(mpi::communicator::get_or_create(half), {});
    int ranks = 0;
    MPI_Comm_size(half, &ranks);
    EXPECT_EQ(static_cast<int>(view->topology.nodes().ranks.size()), ranks);
  }
  MPI_Comm_free(&half);
}

}  // namespace
}  // namespace taquin::detail
