// The closed forms of the models and of the exchanges, against the evaluation of schedules.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "model/some_model.hpp"
#include "model/terms.hpp"
#include "simulation/evaluate.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {
namespace {

shape equal_blocks(int p, count_t bytes) {
  const auto b = static_cast<std::uint64_t>(bytes);
  return {.ranks = p,
          .max_block_bytes = b,
          .min_block_bytes = b,
          .max_rank_bytes = b * static_cast<unsigned>(p),
          .max_received_bytes = b * static_cast<unsigned>(p),
          .nodes = 1,
          .largest_node = p,
          .smallest_node = p};
}

// The schedules of all ranks of a uniform exchange of `bytes` per pair.
std::vector<std::unique_ptr<schedule>> uniform(const algorithm& a, int p, count_t bytes, const options& o = {},
                                               const topology* nodes = nullptr) {
  std::vector<std::unique_ptr<schedule>> all;
  shape sh = equal_blocks(p, bytes);
  if (nodes != nullptr) describe(*nodes, sh);
  for (int r = 0; r < p; ++r) {
    local_exchange x{.rank = r, .ranks = p, .nodes = nodes};
    x.send = {nullptr, {bytes, 0}, {0, bytes}, 1, element::bytes(1)};
    x.recv = x.send;
    all.push_back(std::make_unique<schedule>(a.build(x, sh, o, std::pmr::new_delete_resource())));
  }
  return all;
}

seconds slowest(const std::vector<std::unique_ptr<schedule>>& all, const machine_model& m,
                std::span<const int> node_of = {}) {
  std::vector<const schedule*> pointers;
  for (const auto& s : all) pointers.push_back(s.get());
  return evaluate_slowest(pointers, m, node_of);
}

// `many` messages from rank 0 to rank 1, posted together.
seconds messages(const machine_model& m, count_t bytes, int many) {
  std::vector<schedule> s;
  for (int i = 0; i < 2; ++i) {
    s.emplace_back(std::pmr::new_delete_resource());
    s.back().add_type(element::bytes(1));
  }
  for (int i = 0; i < many; ++i) {
    s[0].send(1, {0, bytes, 0, 1, 0, place::send});
    s[1].recv(0, {0, bytes, 0, 1, 0, place::recv});
  }
  for (auto& t : s) t.end_round();
  const std::vector<const schedule*> pointers{&s[0], &s[1]};
  return evaluate_slowest(pointers, m);
}

seconds one_message(const machine_model& m, count_t bytes) { return messages(m, bytes, 1); }

TEST(cost_models, one_message_costs_what_the_closed_form_says) {
  for (const count_t bytes : {1, 8, 500, 1000, 1500, 2000, 100000}) {
    const auto m = model_of(model_kind::hockney);
    const auto& l = m.levels[0];
    EXPECT_DOUBLE_EQ(l.hockney.time(bytes), 3e-6 + 1e-9 * static_cast<double>(bytes));
    EXPECT_NEAR(one_message(m, bytes), l.hockney.time(bytes), 1e-15);
    EXPECT_NEAR(one_message(model_of(model_kind::loggp), bytes), l.loggp.time(bytes), 1e-15);
    EXPECT_NEAR(one_message(model_of(model_kind::logp), bytes), l.logp.time(bytes), 1e-15);
    EXPECT_NEAR(one_message(model_of(model_kind::plogp), bytes), l.plogp.time(bytes), 1e-15);
  }
}

// Messages that wait on both levels wait once.
TEST(cost_models, a_round_has_one_wait_on_whatever_levels_its_messages_are) {
  auto m = model_of(model_kind::hockney);
  const auto round = [&](int largest_node) {
    shape s = equal_blocks(8, 1000);
    s.nodes = 8 / largest_node;
    s.largest_node = s.smallest_node = largest_node;
    return terms(s, m).round(4, 4000, 1000);
  };
  for (const int largest_node : {1, 2, 4, 8}) {
    m.wait = 0;
    const seconds without = round(largest_node);
    m.wait = 1e-3;
    EXPECT_NEAR(round(largest_node) - without, m.wait, 1e-9) << largest_node;
  }
}

// MPI primitives §1: g is the minimum gap between two consecutive sends. The last of k begins after k − 1 gaps.
TEST(cost_models, consecutive_messages_are_a_gap_apart) {
  for (const seconds gap : {0.1e-6, 1e-6, 1e-3})
    for (const count_t bytes : {1, 8, 1000})
      for (const int k : {2, 3, 63}) {
        auto m = model_of(model_kind::logp);
        auto& l = m.levels[0];
        l.logp.gap = gap;
        EXPECT_NEAR(messages(m, bytes, k), (k - 1) * std::max(gap, l.logp.overhead) + l.logp.time(bytes), 1e-12);
        m.kind = model_kind::loggp;
        l.loggp.gap = gap;
        const seconds train = gap + static_cast<double>(bytes - 1) * l.loggp.per_byte;
        EXPECT_NEAR(messages(m, bytes, k), (k - 1) * std::max(train, l.loggp.overhead) + l.loggp.time(bytes), 1e-12);
      }
  const auto m = model_of(model_kind::plogp);
  for (const count_t bytes : {1, 1000, 2000, 4000})
    for (const int k : {2, 3, 63}) {
      const auto& l = m.levels[0].plogp;
      EXPECT_NEAR(messages(m, bytes, k), (k - 1) * l.at(bytes).gap + l.time(bytes), 1e-12);
    }
}

// A packet of LogP is a message: the next one follows a gap after the last packet.
TEST(cost_models, a_message_of_several_packets_has_a_gap_for_each) {
  const auto m = model_of(model_kind::logp);
  const auto& l = m.levels[0].logp;
  EXPECT_NEAR(messages(m, 2500, 4), 11 * l.gap + l.latency + 2 * l.overhead, 1e-12);
}

TEST(cost_models, no_exchange_of_p_ranks_is_shorter_than_the_gaps_between_its_sends) {
  constexpr int p = 64;
  constexpr seconds gap = 1e-3;
  for (const model_kind kind : {model_kind::logp, model_kind::loggp, model_kind::plogp})
    for (const char* name : {"spread_out", "pairwise", "one_factor"}) {
      auto m = model_of(kind);
      auto& l = m.levels[0];
      l.logp.gap = l.loggp.gap = gap;
      for (auto& point : l.plogp.points) point.gap = gap;
      const algorithm& a = *find_algorithm(name);
      const seconds closed = a.cost(equal_blocks(p, 8), {}, m);
      const seconds evaluated = slowest(uniform(a, p, 8), m);
      EXPECT_GE(evaluated, (p - 2) * gap) << name << ", " << name_of(kind);
      EXPECT_GE(closed, (p - 2) * gap) << name << ", " << name_of(kind);
    }
}

TEST(cost_models, plogp_is_linear_between_its_points_and_follows_the_last_slope) {
  const plogp p = model_of(model_kind::plogp).levels[0].plogp;
  EXPECT_NEAR(p.at(500).gap, 2e-6, 1e-18);
  EXPECT_NEAR(p.at(500).send_overhead, 0.75e-6, 1e-18);
  EXPECT_NEAR(p.at(4000).gap, 12e-6, 1e-18);
}

// MPI primitives §4.7: an alltoall by p − 1 permutations takes (p − 1)(τ + μ·m).
TEST(cost_models, hockney_alltoall_by_rounds_is_tau_p_plus_mu_m_p) {
  for (const char* name : {"pairwise", "spread_out"})
    for (const int p : {2, 3, 4, 7, 8, 16})
      for (const count_t bytes : {8, 1000}) {
        const auto m = model_of(model_kind::hockney);
        EXPECT_NEAR(slowest(uniform(*find_algorithm(name), p, bytes), m), (p - 1) * m.levels[0].hockney.time(bytes),
                    1e-12)
            << name << " p " << p;
      }
}

TEST(cost_models, more_ports_carry_more_messages_at_once) {
  auto m = model_of(model_kind::hockney);
  m.ports = 3;
  EXPECT_NEAR(slowest(uniform(*find_algorithm("spread_out"), 7, 1000), m), 2 * m.levels[0].hockney.time(1000), 1e-12);
  EXPECT_NEAR(slowest(uniform(*find_algorithm("pairwise"), 7, 1000), m), 6 * m.levels[0].hockney.time(1000), 1e-12);
}

TEST(cost_models, overheads_of_many_messages_add_up_on_the_processor) {
  const auto m = model_of(model_kind::loggp);
  const auto& l = m.levels[0].loggp;
  // p − 1 sends back to back, then the last message's way, then what of the receives is left.
  const int p = 5;
  // A gap longer than the overhead lets the core receive between two sends.
  const seconds least = (p - 1) * l.overhead + (p - 1) * l.overhead;
  EXPECT_GE(slowest(uniform(*find_algorithm("spread_out"), p, 1), m), least);
  EXPECT_LE(slowest(uniform(*find_algorithm("spread_out"), p, 1), m),
            std::max(least, (p - 1) * l.gap + 2 * l.overhead) + l.latency + 1e-12);
}

TEST(cost_models, a_level_decides_what_a_message_costs) {
  auto m = model_of(model_kind::hockney);
  m.levels[1].hockney = {30e-6, 1e-9};
  const auto all = uniform(*find_algorithm("pairwise"), 4, 8);
  std::vector<const schedule*> pointers;
  for (const auto& s : all) pointers.push_back(s.get());
  m.ports = 2;  // of a node, for its two ranks
  const std::vector<int> nodes{0, 0, 1, 1};
  const seconds time = evaluate_slowest(pointers, m, nodes);
  EXPECT_NEAR(time, m.levels[0].hockney.time(8) + 2 * m.levels[1].hockney.time(8), 1e-12);
}

// The busiest link is that of a node: n ranks that send to p − n others each.
TEST(cost_models, the_ranks_of_a_node_share_its_link) {
  auto m = model_of(model_kind::hockney);
  m.levels[0].hockney = {0, 1e-12};
  constexpr count_t bytes = 65536;
  for (const int n : {1, 2, 4, 16}) {
    const int p = 4 * n;
    std::vector<int> nodes;
    for (int r = 0; r < p; ++r) nodes.push_back(r / n);
    const seconds link = n * (p - n) * m.levels[1].hockney.time(bytes);
    const seconds evaluated = slowest(uniform(*find_algorithm("spread_out"), p, bytes), m, nodes);
    EXPECT_GE(evaluated, link - 1e-12) << n;
    EXPECT_LT(evaluated, 1.5 * link) << n;
  }
}

// Most intervals that have started and not ended.
std::size_t most_at_once(std::vector<std::array<seconds, 2>> all) {
  std::vector<std::pair<seconds, int>> ends;
  for (const auto& [begin, end] : all) ends.insert(ends.end(), {{begin, 1}, {end - 1e-12, -1}});
  std::ranges::sort(ends);
  int now = 0;
  int most = 0;
  for (const auto& [time, change] : ends) most = std::max(most, now += change);
  return static_cast<std::size_t>(most);
}

constexpr std::array<std::pair<model_kind, const char*>, 6> single_port_cases{
    {{model_kind::hockney, "hierarchical_factor"},
     {model_kind::loggp, "hierarchical_factor"},
     {model_kind::hockney, "hierarchical_k_factor"},
     {model_kind::loggp, "hierarchical_k_factor"},
     {model_kind::hockney, "hierarchical_permutation"},
     {model_kind::loggp, "hierarchical_permutation"}}};

// Sanders & Träff §1: a node sends at most one message and receives at most one at a time. The links would pass more.
TEST(cost_models, with_a_single_port_one_block_enters_a_node_and_one_leaves_it_at_a_time) {
  constexpr count_t bytes = 50000;
  for (const auto& sizes :
       {std::vector{1, 2, 3}, {4, 4, 4}, {1, 4, 2, 8}, {5, 1, 1}, {3, 3, 3, 3, 3}, {4, 1, 4, 1, 4, 1}})
    for (const auto& [kind, name] : single_port_cases) {
      auto m = model_of(kind);
      m.ports = 100;
      m.levels[1].hockney.mu = m.levels[1].loggp.per_byte = 5e-9;
      const topology nodes = topology::of_sizes(sizes);
      const auto& node = nodes.nodes().group;
      const auto all = uniform(*find_algorithm(name), static_cast<int>(node.size()), bytes,
                               {.hierarchical_factor = {.ports = 1}}, &nodes);
      std::vector<const schedule*> pointers;
      for (const auto& s : all) pointers.push_back(s.get());
      std::vector<std::vector<std::array<seconds, 2>>> in(sizes.size());
      auto out = in;
      const auto link = [](auto& of, int n) -> auto& { return of[static_cast<std::size_t>(n)]; };
      evaluate(pointers, m, node, [&](const transfer& t) {
        const int from = node[static_cast<std::size_t>(t.from)];
        const int to = node[static_cast<std::size_t>(t.to)];
        if (from == to || t.bytes < bytes) return;
        link(out, from).push_back(t.out);
        link(in, to).push_back(t.in);
      });
      for (std::size_t n = 0; n < sizes.size(); ++n) {
        EXPECT_EQ(most_at_once(out[n]), 1U) << fmt::format("{}: {} out of node {}", name, fmt::join(sizes, ","), n);
        EXPECT_EQ(most_at_once(in[n]), 1U) << fmt::format("{}: {} into node {}", name, fmt::join(sizes, ","), n);
      }
    }
}

// Where only the bytes between nodes cost time, and each node has one port: permutations take the n(p − n) messages of
// the busiest node, 1-factors the n₂·o more in which it has no partner.
TEST(cost_models, schedules_of_permutations_take_as_long_as_the_busiest_node_sends) {
  constexpr count_t bytes = 100000;
  for (const auto& sizes :
       {std::vector{1, 2, 3}, {4, 4, 4}, {1, 4, 2, 8}, {5, 1, 1}, {3, 3, 3, 3, 3}, {4, 1, 4, 1, 4, 1}, {5, 5, 5, 1}}) {
    auto m = model_of(model_kind::hockney);
    m.ports = 100;
    m.levels[0].hockney = {0, 1e-15};
    m.levels[1].hockney = {0, 1e-9};
    const topology nodes = topology::of_sizes(sizes);
    const auto time = [&](const char* name) {
      const auto all = uniform(*find_algorithm(name), static_cast<int>(nodes.nodes().group.size()), bytes,
                               {.hierarchical_factor = {.ports = 1}}, &nodes);
      return slowest(all, m, nodes.nodes().group) / m.levels[1].hockney.time(bytes);
    };
    const int n = nodes.nodes().largest();
    const int moved = n * (static_cast<int>(nodes.nodes().group.size()) - n);
    EXPECT_NEAR(time("hierarchical_permutation"), moved, 0.01 * moved) << fmt::format("{}", fmt::join(sizes, ","));
    const auto steps = static_cast<double>(nodes.nodes().factor_steps());
    EXPECT_LE(time("hierarchical_factor"), 1.01 * steps) << fmt::format("{}", fmt::join(sizes, ","));
    if (steps > moved) {
      EXPECT_GT(time("hierarchical_factor"), 1.01 * moved) << fmt::format("{}", fmt::join(sizes, ","));
    }
  }
}

machine_model machine_of(model_kind kind) {
  auto m = model_of(kind);
  m.copy = {0.05e-6, 0.1e-9};
  m.pack = {0.05e-6, 0.15e-9};
  m.wait = 0.3e-6;
  return m;
}

// Every algorithm whose schedule can be made without MPI, on one node. The closed formulas leave out what does not
// count; they need to say which algorithm is faster, and by how much.
TEST(cost_models, closed_formulas_of_the_algorithms_are_close_to_the_evaluation) {
  for (const auto kind : all_models)
    for (const algorithm* a : algorithms()) {
      if (a->build == nullptr) continue;
      for (const int p : {2, 3, 4, 8, 13, 16, 32})
        for (const count_t bytes : {8, 200, 4000, 100000}) {
          const auto m = machine_of(kind);
          const shape s = equal_blocks(p, bytes);
          if (!a->supports(s)) continue;
          const seconds closed = a->cost(s, {}, m);
          const seconds evaluated = slowest(uniform(*a, p, bytes), m);
          EXPECT_GT(closed, 0.6 * evaluated) << a->name << ", " << name_of(kind) << ", p " << p << ", " << bytes;
          EXPECT_LT(closed, 1.6 * evaluated) << a->name << ", " << name_of(kind) << ", p " << p << ", " << bytes;
        }
    }
}

// The same between nodes, where both assume that the ranks of a node share its link.
TEST(cost_models, closed_formulas_are_close_to_the_evaluation_between_nodes) {
  for (const auto kind : all_models)
    for (const algorithm* a : algorithms()) {
      if (a->build == nullptr) continue;
      for (const auto& sizes : {std::vector{1, 1, 1}, {2, 2}, {4, 4, 4}, {8, 8, 8, 8}, {16, 16, 16, 16}, {1, 4, 2, 8}})
        for (const count_t bytes : {8, 4000, 65536}) {
          auto m = machine_of(kind);
          m.levels[1].hockney = {20e-6, 2e-9};
          m.levels[1].logp.latency = m.levels[1].loggp.latency = m.levels[1].plogp.latency = 15e-6;
          m.levels[1].loggp.per_byte = 2e-9;
          const topology nodes = topology::of_sizes(sizes);
          shape s = equal_blocks(static_cast<int>(nodes.nodes().group.size()), bytes);
          describe(nodes, s);
          if (!a->supports(s)) continue;
          const seconds closed = a->cost(s, {}, m);
          const seconds evaluated = slowest(uniform(*a, s.ranks, bytes, {}, &nodes), m, nodes.nodes().group);
          const auto what = fmt::format("{}, {}, nodes {}, {}", a->name, name_of(kind), fmt::join(sizes, ","), bytes);
          EXPECT_GT(closed, 0.5 * evaluated) << what;
          EXPECT_LT(closed, 2.0 * evaluated) << what;
        }
    }
}

}  // namespace
}  // namespace taquin::detail
