// The moves of a redistribution over time, from a run of all ranks in one process.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/plan_json.hpp"
#include "harness/block_maps.hpp"
#include "redistribute/footprint.hpp"
#include "simulation/network.hpp"

namespace taquin::cli {

namespace {

using detail::slot;
using nlohmann::json;

constexpr int most_drawn_ranks = 64;
constexpr count_t most_drawn_blocks = 4096;  // of all ranks: every one is examined after every event
constexpr std::size_t most_steps = 400;

// A block is its destination, so that the array itself shows which blocks are in place.
std::uint64_t word_of(int rank, int index) {
  return static_cast<std::uint64_t>(rank) << 32U | static_cast<std::uint32_t>(index);
}
constexpr std::uint64_t dead = ~std::uint64_t{0};

struct rank_state {
  detail::memory_budget budget;
  std::vector<std::uint64_t> data;
  std::vector<bool> wanted;
  std::optional<detail::store> units;
  std::optional<detail::block_map> map;
  detail::machine m;
};

// [step, free places, blocks held aside, blocks in place, bytes copied, blocks that are not yet on their rank]
class observer {
 public:
  observer(std::vector<rank_state>& ranks, double scale) : ranks_(ranks), scale_(scale) {}

  void poll() {
    json now = state();
    if (!steps_.empty() && std::equal(now.begin() + 1, now.end(), steps_.back().begin() + 1)) return;
    steps_.push_back(std::move(now));
  }
  // Evenly spread ones where there are too many.
  [[nodiscard]] json steps() const {
    if (steps_.size() <= most_steps) return steps_;
    json some = json::array();
    for (std::size_t i = 0; i < most_steps; ++i) some.push_back(steps_[i * (steps_.size() - 1) / (most_steps - 1)]);
    return some;
  }

 private:
  json state() {
    count_t free = 0;
    count_t aside = 0;
    count_t settled = 0;
    count_t away = 0;
    std::uint64_t copied = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      rank_state& s = ranks_[r];
      const slot blocks = s.map->blocks();
      for (slot k = 0; k < blocks; ++k) {
        const bool right = s.wanted[k] && s.data[k] == word_of(static_cast<int>(r), static_cast<int>(k));
        settled += right ? 1 : 0;
        free += !right && s.map->free(k) ? 1 : 0;
        away += !right && !s.map->free(k) && (*s.map)[k].rank != static_cast<int>(r) ? 1 : 0;
      }
      for (slot k = blocks; k < s.map->slots(); ++k) aside += s.map->free(k) ? 0 : 1;
      copied += s.units->bytes_copied();
    }
    return {step_++, free, aside, settled, static_cast<double>(copied) * scale_, away};
  }

  std::vector<rank_state>& ranks_;
  double scale_;
  std::uint64_t step_ = 0;
  std::vector<json> steps_;
};

}  // namespace

json plan_redistribution(const detail::redistribution_algorithm& a, const std::string& workload, int ranks,
                         count_t blocks, count_t live, count_t block_bytes, std::uint64_t seed) {
  if (ranks > most_drawn_ranks || blocks * ranks > most_drawn_blocks)
    throw usage(fmt::format("redistributions are drawn for at most {} ranks and {} blocks in all", most_drawn_ranks,
                            most_drawn_blocks));
  const auto& from = find_block_workload(workload, blocks, blocks - live);
  const auto n = detail::as_size(ranks);
  detail::simulated_network network(seed);
  std::vector<rank_state> all(n);
  std::vector<detail::task> tasks;
  const auto sizes = detail::redistribution_sizes(detail::as_size(block_bytes), detail::as_size(blocks));
  std::vector<block_map_of_rank> maps;
  maps.reserve(n);
  for (int r = 0; r < ranks; ++r) maps.push_back(from.make(r, ranks, blocks, live, seed));
  for (std::size_t r = 0; r < n; ++r) {
    rank_state& s = all[r];
    s.wanted.assign(detail::as_size(blocks), false);
    for (std::size_t k = 0; k < maps[r].ranks.size(); ++k)
      s.data.push_back(maps[r].ranks[k] >= 0 ? word_of(maps[r].ranks[k], maps[r].indices[k]) : dead);
    s.units.emplace(s.data.data(), blocks, 1, element::bytes(sizeof(std::uint64_t)), sizes.staging_slots(), &s.budget);
    s.map.emplace(*s.units, &s.budget);
    for (std::size_t k = 0; k < maps[r].ranks.size(); ++k)
      if (maps[r].ranks[k] >= 0)
        s.map->set(static_cast<slot>(k), {maps[r].ranks[k], static_cast<slot>(maps[r].indices[k])});
    s.m = {.memory = &s.budget,
           .rank = static_cast<int>(r),
           .ranks = ranks,
           .map = &*s.map,
           .net = &network.add(*s.units, detail::redistribution_limits(sizes, ranks)),
           .sizes = sizes};
    tasks.push_back(redistribute_blocks(s.m, a));
  }
  for (const auto& map : maps)
    for (std::size_t k = 0; k < map.ranks.size(); ++k)
      if (map.ranks[k] >= 0) all[detail::as_size(map.ranks[k])].wanted[detail::as_size(map.indices[k])] = true;
  observer seen(all, static_cast<double>(block_bytes) / sizeof(std::uint64_t));
  network.deadline([&] { seen.poll(); });
  network.run(tasks);
  seen.poll();
  std::uint64_t rounds = 0;
  for (const auto& s : all) rounds = std::max(rounds, s.m.rounds);
  count_t free = 0;
  for (const auto& map : maps) free += std::ranges::count(map.ranks, -1);
  return {{"taquin_plan", 1},
          {"algorithm", a.name},
          {"ranks", ranks},
          {"workload", workload},
          {"blocks", blocks},
          {"block_bytes", block_bytes},
          {"free_blocks", free / ranks},
          {"staging_blocks", sizes.staging_slots()},
          {"requests", rounds},
          {"steps", seen.steps()}};
}

}  // namespace taquin::cli
