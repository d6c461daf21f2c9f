// Algorithms that know of nodes, over MPI: one machine cut into uneven nodes.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

std::vector<std::vector<int>> cuts(int p) {
  std::vector<std::vector<int>> all{{p}, std::vector<int>(static_cast<std::size_t>(p), 1)};
  if (p >= 3) all.push_back({1, p - 2, 1});
  if (p >= 5) all.push_back({p - 3, 2, 1});
  return all;
}

struct problem {
  std::vector<count_t> scounts, sdispls, rcounts, rdispls;
  std::vector<int> send, expected;

  explicit problem(bool uniform) {
    const int rank = test::rank_in(MPI_COMM_WORLD);
    const int p = test::size_of(MPI_COMM_WORLD);
    count_t sent = 0;
    count_t received = 0;
    for (int i = 0; i < p; ++i) {
      scounts.push_back(uniform ? 3 : (rank * 7 + i * 3) % 5);
      rcounts.push_back(uniform ? 3 : (i * 7 + rank * 3) % 5);
      sdispls.push_back(sent);
      rdispls.push_back(received);
      for (count_t k = 0; k < scounts.back(); ++k) send.push_back(rank * 1000 + i * 10 + static_cast<int>(k));
      for (count_t k = 0; k < rcounts.back(); ++k) expected.push_back(i * 1000 + rank * 10 + static_cast<int>(k));
      sent += scounts.back();
      received += rcounts.back();
    }
  }
};

// Each algorithm with each of its own choices.
template <class F>
void for_each_case(F f) {
  const int p = test::size_of(MPI_COMM_WORLD);
  for (const auto* a : detail::algorithms()) {
    if (!a->needs_nodes) continue;
    for (const auto& nodes : cuts(p)) {
      if (a->name == "multilevel")
        for (const char* levels :
             {"bruck_v,spread_out", "spread_out,bruck_v", "one_factor", "pairwise,one_factor", "auto,bruck_v:3"})
          f(options{.algorithm = a->name, .nodes = nodes, .multilevel = {.levels = levels}});
      else
        for (const int k : {0, 1, 3})
          f(options{.algorithm = a->name,
                    .nodes = nodes,
                    .node_aggregated = {.leaders = k},
                    .hierarchical_factor = {.ports = k}});
    }
  }
}

TEST(node_exchange, delivers_alltoallv_when_blocking_and_prepared) {
  const problem x(false);
  for_each_case([&](const options& o) {
    std::vector<int> recv(x.expected.size(), -1);
    alltoallv(x.send.data(), x.scounts.data(), x.sdispls.data(), MPI_INT, recv.data(), x.rcounts.data(),
              x.rdispls.data(), MPI_INT, MPI_COMM_WORLD, o);
    EXPECT_EQ(recv, x.expected) << o.algorithm;
    plan again(exchange::alltoallv(x.send.data(), count_view(x.scounts.data()), count_view(x.sdispls.data()), MPI_INT,
                                   recv.data(), count_view(x.rcounts.data()), count_view(x.rdispls.data()), MPI_INT,
                                   MPI_COMM_WORLD),
               o);
    for (int k = 0; k < 3; ++k) {
      std::ranges::fill(recv, -1);
      again.start();
      while (!again.test()) {
      }
      EXPECT_EQ(recv, x.expected) << o.algorithm;
    }
  });
}

TEST(node_exchange, delivers_alltoall) {
  const problem x(true);
  for_each_case([&](const options& o) {
    std::vector<int> recv(x.expected.size(), -1);
    alltoall(x.send.data(), 3, MPI_INT, recv.data(), 3, MPI_INT, MPI_COMM_WORLD, o);
    EXPECT_EQ(recv, x.expected) << o.algorithm;
  });
}

TEST(node_exchange, regular_algorithms_serve_levels_of_equal_nodes_and_no_others) {
  const int p = test::size_of(MPI_COMM_WORLD);
  const problem even(true);
  const problem uneven(false);
  for (const char* levels : {"lean_bruck,modified_bruck", "basic_bruck,spread_out", "bruck_v,zero_copy_bruck"}) {
    std::vector<int> recv(even.expected.size(), -1);
    const auto regular = [&](const std::vector<int>& nodes) {
      std::ranges::fill(recv, -1);
      alltoall(even.send.data(), 3, MPI_INT, recv.data(), 3, MPI_INT, MPI_COMM_WORLD,
               {.algorithm = "multilevel", .nodes = nodes, .multilevel = {.levels = levels}});
    };
    for (int n = 1; n <= p; ++n) {
      if (p % n != 0) continue;
      regular(std::vector<int>(static_cast<std::size_t>(p / n), n));
      EXPECT_EQ(recv, even.expected) << levels << ", nodes of " << n;
    }
    if (p < 3) continue;
    const std::vector<int> nodes{1, p - 1};
    EXPECT_THROW(regular(nodes), usage_error) << levels;
    recv.assign(uneven.expected.size(), -1);
    EXPECT_THROW(alltoallv(uneven.send.data(), uneven.scounts.data(), uneven.sdispls.data(), MPI_INT, recv.data(),
                           uneven.rcounts.data(), uneven.rdispls.data(), MPI_INT, MPI_COMM_WORLD,
                           {.algorithm = "multilevel", .nodes = nodes, .multilevel = {.levels = levels}}),
                 usage_error)
        << levels;
    EXPECT_EQ(recv, std::vector<int>(recv.size(), -1));
    alltoallv(uneven.send.data(), uneven.scounts.data(), uneven.sdispls.data(), MPI_INT, recv.data(),
              uneven.rcounts.data(), uneven.rdispls.data(), MPI_INT, MPI_COMM_WORLD,
              {.nodes = nodes, .two_phase = {.inner = "lean_bruck"}, .multilevel = {.levels = levels}});
    EXPECT_EQ(recv, uneven.expected) << "auto takes what serves";
  }
}

TEST(node_exchange, sizes_that_a_peer_does_not_expect_are_an_error_on_all_ranks_when_a_multilevel_plan_is_made) {
  const int p = test::size_of(MPI_COMM_WORLD);
  if (p < 3) GTEST_SKIP() << "no node of several ranks beside another";
  problem x(false);
  if (test::rank_in(MPI_COMM_WORLD) == 0) {  // from one rank of the other node
    x.rcounts.back() += 1;
    x.expected.push_back(0);
  }
  std::vector<int> recv(x.expected.size(), -1);
  for (const auto& nodes : {std::vector<int>{1, p - 1}, std::vector<int>{p - 2, 2}}) {
    const options o{.algorithm = "multilevel", .nodes = nodes};
    const auto prepare = [&] {
      plan(exchange::alltoallv(x.send.data(), count_view(x.scounts.data()), count_view(x.sdispls.data()), MPI_INT,
                               recv.data(), count_view(x.rcounts.data()), count_view(x.rdispls.data()), MPI_INT,
                               MPI_COMM_WORLD),
           o);
    };
    EXPECT_THROW(prepare(), usage_error);
  }
  EXPECT_EQ(recv, std::vector<int>(recv.size(), -1));
}

TEST(node_exchange, unknown_levels_are_an_error_on_all_ranks) {
  const problem x(true);
  for (const char* levels : {"", "bruck_v,", ",bruck_v", "native", "bruck_v,multilevel", "spread_out,nonsense",
                             "bruck_v:1", "bruck_v:", "bruck_v:4x", "auto:2"}) {
    std::vector<int> recv(x.expected.size(), -1);
    EXPECT_THROW(alltoall(x.send.data(), 3, MPI_INT, recv.data(), 3, MPI_INT, MPI_COMM_WORLD,
                          {.multilevel = {.levels = levels}}),
                 usage_error)
        << levels;
  }
}

TEST(node_exchange, plans_in_flight_together_do_not_share_memory) {
  const problem x(false);
  for_each_case([&](const options& o) {
    std::vector<int> first(x.expected.size(), -1);
    std::vector<int> second(x.expected.size(), -1);
    const auto prepare = [&](std::vector<int>& recv) {
      return plan(exchange::alltoallv(x.send.data(), count_view(x.scounts.data()), count_view(x.sdispls.data()),
                                      MPI_INT, recv.data(), count_view(x.rcounts.data()), count_view(x.rdispls.data()),
                                      MPI_INT, MPI_COMM_WORLD),
                  o);
    };
    plan one = prepare(first);
    plan other = prepare(second);
    for (int k = 0; k < 2; ++k) {
      std::ranges::fill(first, -1);
      std::ranges::fill(second, -1);
      one.start();
      other.start();
      other.wait();
      one.wait();
      EXPECT_EQ(first, x.expected) << o.algorithm;
      EXPECT_EQ(second, x.expected) << o.algorithm;
    }
  });
}

TEST(node_exchange, one_node_or_one_rank_per_node_costs_nothing_more) {
  const problem x(true);
  const auto cost_of = [&](const options& given) {
    std::vector<int> recv(x.expected.size(), -1);
    statistics s;
    options o = given;
    o.stats = &s;
    plan once(exchange::alltoall(x.send.data(), 3, MPI_INT, recv.data(), 3, MPI_INT, MPI_COMM_WORLD), o);
    once.run();
    EXPECT_EQ(recv, x.expected);
    return s;
  };
  const int p = test::size_of(MPI_COMM_WORLD);
  const statistics flat = cost_of({.algorithm = "spread_out"});
  for (const auto& nodes : {std::vector<int>{p}, std::vector<int>(static_cast<std::size_t>(p), 1)}) {
    for (const char* name : {"node_aggregated", "multilevel"}) {
      const statistics s = cost_of({.algorithm = name, .nodes = nodes, .multilevel = {.levels = "spread_out"}});
      EXPECT_EQ(s.rounds, flat.rounds) << name;
      EXPECT_EQ(s.messages, flat.messages) << name;
      EXPECT_EQ(s.bytes_sent, flat.bytes_sent) << name;
      EXPECT_EQ(s.bytes_copied, flat.bytes_copied) << name;
      EXPECT_EQ(s.peak_memory, flat.peak_memory) << name;
    }
  }
}

TEST(node_exchange, exactly_the_stated_memory_is_enough) {
  const problem x(false);
  for_each_case([&](const options& given) {
    options o = given;
    std::vector<int> recv(x.expected.size(), -1);
    const auto exchange_with = [&](std::size_t memory) {
      o.memory = memory;
      alltoallv(x.send.data(), x.scounts.data(), x.sdispls.data(), MPI_INT, recv.data(), x.rcounts.data(),
                x.rdispls.data(), MPI_INT, MPI_COMM_WORLD, o);
    };
    std::size_t needed = 0;
    try {
      exchange_with(0);
      ADD_FAILURE() << o.algorithm << " took memory that it did not have";
    } catch (const budget_exceeded& e) {
      needed = e.requested();
    }
    EXPECT_EQ(recv, std::vector<int>(recv.size(), -1));
    exchange_with(needed);
    EXPECT_EQ(recv, x.expected) << o.algorithm;
    EXPECT_THROW(exchange_with(needed - 1), budget_exceeded);
  });
}

}  // namespace
}  // namespace taquin
