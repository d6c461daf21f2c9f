#include "cli/redistribution_offline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/misspelt.hpp"
#include "harness/block_maps.hpp"
#include "harness/names.hpp"
#include "redistribute/cost.hpp"
#include "simulation/redistribution_time.hpp"

namespace taquin::cli {

namespace {

constexpr int most_predicted_ranks = 4096;
constexpr count_t most_predicted_blocks = 1 << 16;  // of all ranks, to be moved one by one
constexpr count_t most_mapped = 1 << 24;

bool is_requested(const redistribution_offline& a, std::string_view name) {
  return std::ranges::any_of(a.algorithms, [&](const std::string& n) { return n == "all" || n == name; });
}

void check(const redistribution_offline& a, int ranks) {
  for (const std::string& name : a.algorithms) {
    if (name == "auto") throw usage("auto is a choice, not an algorithm: see 'taquin explain'");
    if (name != "all" && detail::find_redistribution(name) == nullptr)
      throw usage(fmt::format("unknown redistribution algorithm '{}'; known are all, {}", name,
                              detail::redistribution_names()));
  }
  if (ranks > most_predicted_ranks || a.blocks * ranks > most_mapped)
    throw usage(fmt::format("redistributions are predicted for at most {} ranks and {} blocks in all",
                            most_predicted_ranks, most_mapped));
  if (a.free > a.blocks) throw usage(fmt::format("--free {} of {} blocks", a.free, a.blocks));
}

detail::whole_map map_of(const redistribution_offline& a, int ranks) {
  const auto& from = find_block_workload(a.workload, a.blocks, a.free);
  detail::whole_map map{.of = {}, .block_bytes = std::max<count_t>(a.bytes / a.blocks, 1)};
  for (int r = 0; r < ranks; ++r) {
    auto mine = from.make(r, ranks, a.blocks, a.blocks - a.free, a.seed);
    map.of.push_back({std::move(mine.ranks), std::move(mine.indices)});
  }
  return map;
}

}  // namespace

void redistribution_flags::add_to(CLI::App& app) {
  options = {app.add_option("--blocks", blocks, "a redistribution: blocks of a rank's array, of -b bytes together")
                 ->capture_default_str()
                 ->check(at_least_one()),
             app.add_option("--free", free, "a redistribution: free ones among them")
                 ->capture_default_str()
                 ->check(CLI::NonNegativeNumber)};
}

void redistribution_flags::refuse() const {
  if (std::ranges::any_of(options, [](const CLI::Option* o) { return o->count() > 0; }))
    throw usage("--blocks and --free are of redistributions");
}

bool asks_for_redistribution(const std::vector<std::string>& algorithms, const std::string& collective) {
  return collective == "redistribution" || std::ranges::any_of(algorithms, [](const std::string& name) {
           return name != "auto" && detail::find_redistribution(name) != nullptr;
         });
}

std::vector<redistribution_candidate> predict_redistribution(const redistribution_offline& a, int ranks,
                                                             const detail::topology& nodes, const machine_model& m) {
  check(a, ranks);
  const detail::whole_map map = map_of(a, ranks);
  std::vector<redistribution_candidate> all;
  for (const auto* one : detail::redistributions()) {
    if (!is_requested(a, one->name)) continue;
    const auto problem = problem_of(*one, map);
    const auto choice = choose_buffers(problem, a.memory);
    redistribution_candidate c;
    c.algorithm = one->name;
    c.fits = choice.has_value();
    c.chosen = c.fits && one == detail::find_redistribution("auto");
    c.memory = least_memory(problem);
    if (choice) {
      c.memory = detail::redistribution_footprint(*one, choice->sizes, ranks, problem.most_blocks * choice->parts,
                                                  problem.block_bytes / choice->parts);
      c.formula = one->cost(load_of(map, *choice), m);
      if (a.blocks * static_cast<count_t>(choice->parts) * ranks <= most_predicted_blocks)
        c.run = simulate_redistribution(*one, map, a.memory)->time(m, nodes.nodes().group);
    }
    all.push_back(c);
  }
  return all;
}

}  // namespace taquin::cli
