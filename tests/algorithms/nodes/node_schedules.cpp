// Schedules that know of nodes, for all ranks of many uneven communicators in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/aggregation.hpp"
#include "simulation/runner.hpp"
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

using counts_type = std::vector<std::vector<count_t>>;
using build_function = std::function<schedule(const local_exchange&, const shape&, const counts_type&)>;

counts_type random_counts(std::size_t n, std::mt19937& random) {
  counts_type counts(n, std::vector<count_t>(n));
  for (auto& row : counts)
    for (auto& c : row) c = std::max(0, static_cast<int>(random() % 9) - 2);
  return counts;
}

void run(const topology& t, const counts_type& counts, bool uniform, delivery how, const build_function& build) {
  const int p = static_cast<int>(t.nodes().ranks.size());
  const auto n = static_cast<std::size_t>(p);
  count_t most = 0;
  for (const auto& row : counts) most = std::max(most, std::ranges::max(row));
  const auto block = static_cast<std::size_t>(most);
  const shape sh{.ranks = p,
                 .kind = exchange::form::alltoallv,
                 .uniform = uniform,
                 .max_block_bytes = block,
                 .max_rank_bytes = block * n,
                 .nodes = t.nodes().groups(),
                 .largest_node = t.nodes().largest(),
                 .smallest_node = t.nodes().smallest()};
  std::vector<rank_data> ranks(n);
  std::vector<simulated_rank> lock;
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
    d.plan = std::make_unique<schedule>(build(x, sh, counts));
    lock.push_back({d.plan.get(), d.send.data(), d.recv.data(), t.nodes().group[r]});
  }
  run_simulated(lock, how);
  for (std::size_t r = 0; r < n; ++r) ASSERT_EQ(ranks[r].recv, ranks[r].expected) << "rank " << r;
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
        for (const auto how : {delivery::eager, delivery::rendezvous})
          run(t, random_counts(colours.size(), random), false, how,
              [&](const local_exchange& x, const shape& s, const counts_type&) {
                return a->build(x, s, {.hierarchical_factor = {.ports = ports}}, std::pmr::new_delete_resource());
              });
    }
  }
}

// The sizes that the ranks of x.rank's node exchange.
node_traffic traffic_of(const level& nodes, const local_exchange& x, const counts_type& counts) {
  const int node = nodes.group[static_cast<std::size_t>(x.rank)];
  std::pmr::vector<count_t> to_node;
  std::pmr::vector<count_t> from;
  for (const int rank : nodes.members(node)) {
    for (int other = 0; other < nodes.groups(); ++other) {
      count_t sum = 0;
      for (const int to : nodes.members(other))
        sum += counts[static_cast<std::size_t>(rank)][static_cast<std::size_t>(to)];
      to_node.push_back(sum);
    }
    for (const auto& row : counts) from.push_back(row[static_cast<std::size_t>(rank)]);
  }
  return {nodes, node, std::move(to_node), std::move(from)};
}

int ranks_here(const local_exchange& x, const level& nodes) {
  return nodes.size(nodes.group[static_cast<std::size_t>(x.rank)]);
}

bool leads(const aggregation& work, const local_exchange& x, const level& nodes) {
  return nodes.index[static_cast<std::size_t>(x.rank)] < work.leaders_of(ranks_here(x, nodes));
}

bool reaches_other_nodes(const schedule& s, const local_exchange& x, const level& nodes) {
  return std::ranges::any_of(s.messages, [&](const message& m) {
    return nodes.group[static_cast<std::size_t>(m.peer)] != nodes.group[static_cast<std::size_t>(x.rank)];
  });
}

struct builder_and_size {
  decltype(build_aggregated)* build;
  decltype(size_of_aggregated)* size;
};

constexpr std::array<aggregation, 7> ways{{{1, 0}, {2, 0}, {100, 0}, {2, 1}, {100, 1}, {100, 2}, {1, 3}}};

void aggregate_in_any_number_of_passes(const builder_and_size& way) {
  auto* const memory = std::pmr::new_delete_resource();
  std::mt19937 random(4);
  for (int k = 0; k < 40; ++k) {
    const bool large = k % 8 == 0;  // few blocks fit a message
    std::vector<int> colours(1 + random() % (large ? 10 : 40));
    const int nodes = 1 + static_cast<int>(random() % (large ? 3 : 8));
    for (int& c : colours) c = static_cast<int>(random()) % nodes;
    if (k % 2 == 0) std::ranges::sort(colours);
    const topology t{{level::of("node", colours)}};
    const counts_type identical(colours.size(), std::vector<count_t>(colours.size(), large ? 17000 : 3));
    for (const aggregation& work : ways)
      for (const auto how : {delivery::eager, delivery::rendezvous}) {
        const auto within = [&](const schedule& s, const local_exchange& x, const shape& sh) {
          const auto size = way.size(sh, work);
          EXPECT_LE(s.messages.size(), size.parts.messages);
          EXPECT_TRUE(leads(work, x, t.nodes()) || !reaches_other_nodes(s, x, t.nodes()));
          EXPECT_LE(s.regions.size(), size.parts.regions);
          EXPECT_LE(s.copies.size(), size.parts.copies);
          EXPECT_LE(s.rounds.size(), size.parts.rounds);
          EXPECT_LE(s.scratch_bytes, size.scratch);
          EXPECT_LE(s.shared_bytes, size.scratch * static_cast<std::size_t>(ranks_here(x, t.nodes())));
        };
        run(t, identical, true, how, [&](const local_exchange& x, const shape& sh, const counts_type&) {
          const node_traffic traffic(t.nodes(), t.nodes().group[static_cast<std::size_t>(x.rank)], identical[0][0],
                                     memory);
          auto s = way.build(x, t.nodes(), traffic, work, memory);
          within(s, x, sh);
          return s;
        });
        run(t, random_counts(colours.size(), random), false, how,
            [&](const local_exchange& x, const shape& sh, const counts_type& counts) {
              auto s = way.build(x, t.nodes(), traffic_of(t.nodes(), x, counts), work, memory);
              within(s, x, sh);
              return s;
            });
      }
  }
}

TEST(node_schedules, aggregate_by_messages_in_any_number_of_passes) {
  aggregate_in_any_number_of_passes({build_aggregated, size_of_aggregated});
}

TEST(node_schedules, aggregate_in_shared_memory_in_any_number_of_passes) {
  aggregate_in_any_number_of_passes({build_shared, size_of_shared});
}

// Rank 0 writes into the node's memory what rank 1 takes from there, which waits for `awaited` arrivals.
void hand_over(int awaited) {
  auto* const memory = std::pmr::new_delete_resource();
  std::array<schedule, 2> ranks{schedule(memory), schedule(memory)};
  const region own{0, 4, 0, 1, 0, place::send};
  const region there{0, 4, 0, 1, 0, place::recv};
  const region common{0, 4, 0, 1, 0, place::shared};
  for (schedule& s : ranks) {
    s.add_type(element::bytes(1));
    s.shared_bytes = 4;
  }
  ranks[0].add_copy(own, common);
  ranks[0].arrive();
  ranks[1].arrive();
  if (awaited > 0) ranks[1].await(awaited);
  ranks[1].add_copy(common, there);
  ranks[1].end_round();
  std::vector<std::byte> data(4, std::byte{7});
  std::vector<std::byte> result(4);
  const std::array<simulated_rank, 2> both{
      {{ranks.data(), data.data(), nullptr, 0}, {&ranks[1], nullptr, result.data(), 0}}};
  run_simulated(both, delivery::eager);
  EXPECT_EQ(result, data);
}

TEST(node_schedules, see_what_another_rank_has_written_when_they_have_waited_for_it) {
  hand_over(1);
  EXPECT_THROW(hand_over(0), simulated_error);
  EXPECT_THROW(hand_over(2), simulated_error);  // no rank arrives twice: it waits forever
}

}  // namespace
}  // namespace taquin::detail
