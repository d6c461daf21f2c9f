// The closed forms of the models and of the exchanges, against the evaluation of schedules.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "model/some_model.hpp"
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
std::vector<std::unique_ptr<schedule>> uniform(const algorithm& a, int p, count_t bytes, int in_flight = 0) {
  std::vector<std::unique_ptr<schedule>> all;
  const shape sh = equal_blocks(p, bytes);
  for (int r = 0; r < p; ++r) {
    local_exchange x{.rank = r, .ranks = p};
    x.send = {nullptr, {bytes, 0}, {0, bytes}, 1, element::bytes(1)};
    x.recv = x.send;
    all.push_back(
        std::make_unique<schedule>(a.build(x, sh, options{.in_flight = in_flight}, std::pmr::new_delete_resource())));
  }
  return all;
}

seconds slowest(const std::vector<std::unique_ptr<schedule>>& all, const machine_model& m) {
  std::vector<const schedule*> pointers;
  for (const auto& s : all) pointers.push_back(s.get());
  return evaluate_slowest(pointers, m, same_node);
}

// One message from rank 0 to rank 1.
seconds one_message(const machine_model& m, count_t bytes) {
  std::vector<schedule> s;
  for (int i = 0; i < 2; ++i) {
    s.emplace_back(std::pmr::new_delete_resource());
    s.back().add_type(element::bytes(1));
  }
  s[0].send(1, {0, bytes, 0, 1, 0, place::send});
  s[1].recv(0, {0, bytes, 0, 1, 0, place::recv});
  for (auto& t : s) t.end_round();
  const std::vector<const schedule*> pointers{&s[0], &s[1]};
  return evaluate_slowest(pointers, m, same_node);
}

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
  const seconds least = (p - 1) * l.overhead + (p - 1) * l.overhead;
  EXPECT_GE(slowest(uniform(*find_algorithm("spread_out"), p, 1), m), least);
  EXPECT_LE(slowest(uniform(*find_algorithm("spread_out"), p, 1), m), least + l.latency + 1e-12);
}

TEST(cost_models, a_level_decides_what_a_message_costs) {
  auto m = model_of(model_kind::hockney);
  m.levels[1].hockney = {30e-6, 1e-9};
  const auto all = uniform(*find_algorithm("pairwise"), 4, 8);
  std::vector<const schedule*> pointers;
  for (const auto& s : all) pointers.push_back(s.get());
  const seconds time = evaluate_slowest(pointers, m, [](int a, int b) { return a / 2 == b / 2 ? 0 : 1; });
  EXPECT_NEAR(time, m.levels[0].hockney.time(8) + 2 * m.levels[1].hockney.time(8), 1e-12);
}

// Every algorithm whose schedule can be made without MPI, on one node. The closed formulas leave out what does not
// count; they need to say which algorithm is faster, and by how much.
TEST(cost_models, closed_formulas_of_the_algorithms_are_close_to_the_evaluation) {
  for (const auto kind : {model_kind::hockney, model_kind::loggp, model_kind::plogp})
    for (const algorithm* a : algorithms()) {
      if (a->build == nullptr) continue;
      for (const int p : {2, 3, 4, 8, 13, 16, 32})
        for (const count_t bytes : {8, 200, 4000, 100000}) {
          auto m = model_of(kind);
          m.copy = {0.05e-6, 0.1e-9};
          m.pack = {0.05e-6, 0.15e-9};
          m.wait = 0.3e-6;
          const shape s = equal_blocks(p, bytes);
          if (!a->supports(s)) continue;
          const seconds closed = a->cost(s, {}, m);
          const seconds evaluated = slowest(uniform(*a, p, bytes), m);
          EXPECT_GT(closed, 0.6 * evaluated) << a->name << ", " << name_of(kind) << ", p " << p << ", " << bytes;
          EXPECT_LT(closed, 1.6 * evaluated) << a->name << ", " << name_of(kind) << ", p " << p << ", " << bytes;
        }
    }
}

}  // namespace
}  // namespace taquin::detail
