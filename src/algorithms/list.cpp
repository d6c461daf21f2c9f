#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "algorithms/algorithm.hpp"
#include "node/detect.hpp"
#include "schedule/executor.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {
constexpr std::array all{
#define TAQUIN_ALGORITHM(name) &(name),
#include "algorithms/algorithms.def"
#undef TAQUIN_ALGORITHM
};
}  // namespace

std::span<const algorithm* const> algorithms() noexcept { return all; }

const algorithm* find_algorithm(std::string_view name) noexcept {
  const auto found = std::ranges::find(all, name, [](const algorithm* a) { return a->name; });
  return found == all.end() ? nullptr : *found;
}

operation_ptr prepare_operation(const algorithm& a, const exchange& x, const context& c, memory_budget& budget) {
  if (a.prepare != nullptr) return a.prepare(x, c, budget);
  const topology* nodes = c.nodes != nullptr ? &c.nodes->topology : nullptr;
  const local_exchange local{c.comm->rank(), c.comm->size(), x.in_place, x.send, x.recv, nodes};
  return make_operation<executor>(budget, a.build(local, *c.shape, *c.opts, &budget), execution_of(x, c), &budget);
}

usage_error not_served_inside(const algorithm& a) {
  return on_all_ranks(usage_error(
      fmt::format("algorithm '{}' does not serve as an inner algorithm here: blocks differ in size", a.name),
      MPI_ERR_UNSUPPORTED_OPERATION));
}

operation_ptr prepare_inside(const algorithm& a, const exchange& x, const context& c, memory_budget& budget) {
  if (!a.supports(*c.shape)) throw not_served_inside(a);
  return prepare_operation(a, x, c, budget);
}

seconds cost_inside(const algorithm& a, const shape& s, const options& o, const machine_model& m) noexcept {
  return a.supports(s) ? a.cost(s, o, m) : std::numeric_limits<seconds>::infinity();
}

std::string algorithm_names() {
  std::string names;
  for (const algorithm* a : all) {
    if (!names.empty()) names += ", ";
    names += a->name;
  }
  return names;
}

}  // namespace taquin::detail
