// Any sparse exchange by any algorithm, drawn and evaluated without MPI.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/sparse/followed.hpp"
#include "base/sizes.hpp"
#include "harness/sparse_methods.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/sparse_moves.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {
namespace {

constexpr int most_ranks = 40;

// Sizes around those at which blocks take another way, and any.
rc::Gen<count_t> any_bytes() {
  return rc::gen::oneOf(rc::gen::element<count_t>(0, 1, 32, 33, 1024, 1025, 8184, 8185, 16384, 16385, 131073),
                        rc::gen::inRange<count_t>(0, 40000));
}

sparse_pattern any_pattern() {
  const int p = *rc::gen::inRange(1, most_ranks + 1).as("ranks");
  sparse_pattern x;
  x.per_node = *rc::gen::inRange(1, p + 1).as("ranks of a node");
  x.in_flight = *rc::gen::inRange<std::size_t>(1, 65).as("in flight");
  const bool all_to_few = *rc::gen::arbitrary<bool>().as("all to few");
  const auto destination = rc::gen::inRange(0, all_to_few ? std::min(p, 2) : p);
  for (int rank = 0; rank < p; ++rank) {
    auto& mine = x.blocks.emplace_back();
    const auto drawn = *rc::gen::container<std::vector<int>>(destination).as("destinations of a rank");
    for (const int to : std::set<int>(drawn.begin(), drawn.end())) mine.push_back({to, *any_bytes()});
  }
  return x;
}

machine_model any_model() {
  machine_model m = machine_model::built_in();
  m.kind = *rc::gen::elementOf(all_models).as("model");
  m.ports = *rc::gen::inRange(1, 4).as("ports");
  m.ranks_per_core = *rc::gen::element(1.0, 4.0).as("ranks per core");
  m.wait = *rc::gen::element(0.0, 3e-6).as("wait");
  return m;
}

// Drawn as it is printed, and evaluated without the rounds in which nothing is done.
void check_moves(const sparse_pattern& x, const machine_model& model, sparse_moves m, bool by_nodes) {
  RC_ASSERT(wrong_in(x, m, by_nodes) == "");
  m.drop_empty_rounds();
  RC_ASSERT(wrong_in(x, m, by_nodes) == "");
  const auto schedules = schedules_of(m, x.ranks());
  std::vector<const schedule*> pointers;
  pointers.reserve(schedules.size());
  for (const schedule& s : schedules) pointers.push_back(&s);
  const auto ends = evaluate(pointers, model, x.nodes_of_ranks());
  RC_ASSERT(ends.size() == as_size(x.ranks()));
  for (const seconds t : ends) RC_ASSERT(std::isfinite(t) && t >= 0);
  if (x.ranks() > 1) RC_ASSERT(*std::ranges::max_element(ends) > 0);
}

RC_GTEST_PROP(sparse_predicted, any_exchange_by_any_algorithm_comes_and_ends, ()) {
  const sparse_pattern x = any_pattern();
  const machine_model model = any_model();
  for (const sparse_algorithm* a : sparse_algorithms()) {
    sparse_moves m;
    if (!add_sparse_moves(*a, x, m)) check_moves(x, model, std::move(m), reads_of_nodes(*a));
  }
  for (const auto& way : harness::sparse_methods()) {
    sparse_moves m;
    way.moves(x, m);
    check_moves(x, model, std::move(m), false);
  }
}

}  // namespace
}  // namespace taquin::detail
