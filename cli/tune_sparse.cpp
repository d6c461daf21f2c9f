#include "cli/tune_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "cli/command.hpp"
#include "harness/errors.hpp"
#include "harness/names.hpp"
#include "harness/sizes.hpp"
#include "harness/sparse_measure.hpp"

namespace taquin::cli {

namespace {

constexpr int few_peers = 4;
constexpr int many_peers = 16;

sparse_problem problem_of(int peers, count_t bytes) {
  return {parse_workload(fmt::format("sparse:{}", peers)), bytes, true, 1};
}

// The only algorithm of auto where it has no choice; empty where it uses messages.
std::string only_way(const sparse_problem& x) {
  std::vector<contender> one(1);
  one[0].asked = "auto";
  measure(x, one, {.repetitions = 1, .batch = 1}, [](auto) {});
  const auto* const way = detail::find_sparse(one[0].name);
  return way == nullptr || way->find != nullptr ? "" : one[0].name;
}

std::string measure_cell(int ranks, int peers, count_t bytes, int repetitions, detail::profile& p) {
  const sparse_problem x = problem_of(peers, bytes);
  std::vector<contender> contenders;
  for (const auto* way : detail::sparse_algorithms())
    if (way->find != nullptr) contenders.emplace_back().asked = way->name;
  measure(x, contenders, {.repetitions = repetitions}, [](auto) {});
  std::string fastest;
  double least = 0;
  for (const contender& c : contenders) {
    if (c.fault) continue;
    if (c.wrong != 0) throw failure(fmt::format("{} gave {} wrong bytes", c.asked, c.wrong));
    const timing t = timing_of(c.seconds);
    p.sparse.push_back({c.asked, ranks, static_cast<std::uint64_t>(peers), static_cast<double>(bytes), t.median});
    if (!fastest.empty() && t.median >= least) continue;
    fastest = fmt::format("{:<44} {:<20} {}\n", fmt::format("sparse exchange, {} peers, {}", peers, show_size(bytes)),
                          c.asked, show_timing(t));
    least = t.median;
  }
  return fastest;
}

}  // namespace

std::string tune_sparse(int ranks, int repetitions, const time_limit_of_all& limit, detail::profile& p,
                        harness::progress& display) {
  if (const std::string way = only_way(problem_of(1, 8)); !way.empty())
    return fmt::format("{:<44} {} alone\n", "sparse exchanges", way);
  std::string lines;
  std::vector<int> numbers{std::min(few_peers, ranks - 1)};
  const int more = std::min(many_peers, ranks - 1);
  if (std::bit_width(static_cast<unsigned>(more)) > std::bit_width(static_cast<unsigned>(numbers[0])))
    numbers.push_back(more);
  for (const int peers : numbers)
    for (const count_t bytes : {8, 1024, 16384}) {
      if (limit.over()) return lines;
      display.show(fmt::format("sparse exchange, {} peers, {}", peers, show_size(bytes)), 0);
      lines += measure_cell(ranks, peers, bytes, repetitions, p);
    }
  return lines;
}

}  // namespace taquin::cli
