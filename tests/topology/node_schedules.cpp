// Schedules that know of nodes, for all ranks of many uneven communicators in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "schedule/lockstep.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {
namespace {

struct rank_data {
  std::vector<count_t> scounts, sdispls, rcounts, rdispls;
  std::vector<std::byte> send, recv, expected;
  std::unique_ptr<schedule> plan;
};

std::size_t displace(const std::vector<count_t>& counts, std::vector<count_t>& displs) {
  count_t at = 1;  // a guard byte in front, and one after each block
  for (const count_t c : counts) {
    displs.push_back(at);
    at += c + 1;
  }
  return static_cast<std::size_t>(at);
}

std::byte data_byte(int from, int to, count_t i) { return static_cast<std::byte>(from * 31 + to * 17 + i * 7 + 1); }

void run(const algorithm& a, const topology& t, const options& o, delivery how, std::mt19937& random) {
  const int p = static_cast<int>(t.nodes().ranks.size());
  const auto n = static_cast<std::size_t>(p);
  std::vector<std::vector<count_t>> counts(n, std::vector<count_t>(n));
  for (auto& row : counts)
    for (auto& c : row) c = std::max(0, static_cast<int>(random() % 9) - 2);
  const shape sh{.ranks = p,
                 .kind = exchange::form::alltoallv,
                 .uniform = false,
                 .max_block_bytes = 6,
                 .max_rank_bytes = 6 * n,
                 .nodes = t.nodes().groups(),
                 .largest_node = t.nodes().largest(),
                 .smallest_node = t.nodes().smallest()};
  std::vector<rank_data> ranks(n);
  std::vector<lockstep_rank> lock;
  for (std::size_t r = 0; r < n; ++r) {
    auto& d = ranks[r];
    d.scounts = counts[r];
    for (const auto& row : counts) d.rcounts.push_back(row[r]);
    d.send.resize(displace(d.scounts, d.sdispls));
    d.recv.resize(displace(d.rcounts, d.rdispls), std::byte{0xee});
    d.expected = d.recv;
    const int me = static_cast<int>(r);
    for (std::size_t j = 0; j < n; ++j) {
      for (count_t i = 0; i < d.scounts[j]; ++i)
        d.send[static_cast<std::size_t>(d.sdispls[j] + i)] = data_byte(me, static_cast<int>(j), i);
      for (count_t i = 0; i < d.rcounts[j]; ++i)
        d.expected[static_cast<std::size_t>(d.rdispls[j] + i)] = data_byte(static_cast<int>(j), me, i);
    }
    local_exchange x{.rank = me, .ranks = p, .nodes = &t};
    x.send = {d.send.data(), count_view(d.scounts.data()), count_view(d.sdispls.data()), 1, element::bytes(1)};
    x.recv = {d.recv.data(), count_view(d.rcounts.data()), count_view(d.rdispls.data()), 1, element::bytes(1)};
    d.plan = std::make_unique<schedule>(a.build(x, sh, o, std::pmr::new_delete_resource()));
    lock.push_back({d.plan.get(), d.send.data(), d.recv.data()});
  }
  run_lockstep(lock, how);
  for (std::size_t r = 0; r < n; ++r) ASSERT_EQ(ranks[r].recv, ranks[r].expected) << a.name << " rank " << r;
}

TEST(node_schedules, serve_random_nodes_with_any_number_of_ports) {
  std::mt19937 random(3);
  for (const algorithm* a : algorithms()) {
    if (a->build == nullptr || !a->needs_nodes) continue;
    for (int k = 0; k < 40; ++k) {
      std::vector<int> colours(1 + random() % 40);
      const int nodes = 1 + static_cast<int>(random() % 8);
      for (int& c : colours) c = static_cast<int>(random()) % nodes;
      if (k % 2 == 0) std::ranges::sort(colours);  // in rank order, or scattered
      const topology t{{level::of("node", colours)}};
      for (const int ports : {0, 1, 2, 5, 30})
        for (const auto how : {delivery::eager, delivery::rendezvous}) run(*a, t, {.ports = ports}, how, random);
    }
  }
}

}  // namespace
}  // namespace taquin::detail
