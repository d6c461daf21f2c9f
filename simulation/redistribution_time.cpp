#include "simulation/redistribution_time.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "redistribute/footprint.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/network.hpp"

namespace taquin::detail {

namespace {

using unit = std::uint64_t;  // stands for a block, or a part of one

struct rank_tables {
  memory_budget budget;
  std::vector<unit> data;
  std::optional<store> units;
  std::optional<block_map> map;
  machine m;
  std::uint64_t copied = 0;
};

// Writes the schedules while the ranks run.
class recorder {
 public:
  recorder(std::vector<rank_tables>& ranks, count_t unit_bytes, simulated_moves& to)
      : ranks_(ranks), unit_bytes_(unit_bytes), to_(to), sent_(ranks.size()) {
    for (std::size_t r = 0; r < ranks.size(); ++r)
      to_.schedules.emplace_back(std::pmr::new_delete_resource()).add_type(element::bytes(1));
  }

  // The round before is over. Messages that were posted before it and transfers have arrived in it; then ranks copied.
  void next_round() {
    deliver();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const std::uint64_t now = ranks_[r].units->bytes_copied();
      const auto copies = static_cast<std::uint32_t>((now - std::exchange(ranks_[r].copied, now)) / sizeof(unit));
      if (copies == 0) continue;
      region run = bytes_at(unit_bytes_);
      run.repeat = copies;
      run.stride = unit_bytes_;
      to_.schedules[r].add_copy(run, run);
      to_.bytes_copied = std::max(to_.bytes_copied, static_cast<count_t>(now / sizeof(unit)) * unit_bytes_);
    }
    end_round();
    arriving_ = std::exchange(posted_, {});
  }
  void post(int from, int to, std::size_t words) {
    posted_.push_back({from, to, static_cast<count_t>(words * sizeof(word))});
  }
  void arrive(const simulated_move& m) {
    if (m.kind != simulated_move::what::arrived) return;
    // Runs of one transfer arrive together.
    if (!arriving_.empty() && arriving_.back().transfer && arriving_.back().from == m.peer &&
        arriving_.back().to == m.rank)
      arriving_.back().bytes += m.length * unit_bytes_;
    else
      arriving_.push_back({m.peer, m.rank, m.length * unit_bytes_, true});
  }
  // In log rounds.
  void collect(std::size_t words) {
    deliver();
    const auto p = static_cast<int>(ranks_.size());
    for (int distance = 1; distance < p; distance *= 2) {
      for (int r = 0; r < p; ++r)
        add({r, (r + distance) % p, static_cast<count_t>(std::max<std::size_t>(words, 1) * sizeof(word))});
      end_round();
    }
  }
  void finish() {
    next_round();
    next_round();
    to_.messages = *std::ranges::max_element(sent_);
  }

 private:
  struct message {
    int from = 0;
    int to = 0;
    count_t bytes = 0;
    bool transfer = false;
  };
  void add(const message& m) {
    if (m.from == m.to) return;
    to_.schedules[as_size(m.from)].send(m.to, bytes_at(std::max<count_t>(m.bytes, 1)));
    to_.schedules[as_size(m.to)].recv(m.from, bytes_at(std::max<count_t>(m.bytes, 1)));
    ++sent_[as_size(m.from)];
  }
  void deliver() {
    for (const message& m : std::exchange(arriving_, {})) add(m);
    end_round();
  }
  void end_round() {
    for (schedule& s : to_.schedules) s.end_round();
  }

  std::vector<rank_tables>& ranks_;
  count_t unit_bytes_;
  simulated_moves& to_;
  std::vector<std::uint64_t> sent_;
  std::vector<message> posted_;    // in this round
  std::vector<message> arriving_;  // in this round, of the one before
};

void fill(rank_tables& s, const whole_map::of_rank& mine, std::size_t parts, const buffer_sizes& sizes) {
  const auto blocks = static_cast<count_t>(mine.ranks.size() * parts);
  s.data.resize(as_size(blocks));
  s.units.emplace(s.data.data(), blocks, 1, element::bytes(sizeof(unit)), sizes.staging_slots(), &s.budget);
  s.map.emplace(*s.units, &s.budget);
  for (std::size_t k = 0; k < mine.ranks.size(); ++k)
    for (std::size_t i = 0; i < parts; ++i)
      if (mine.ranks[k] >= 0)
        s.map->set(static_cast<slot>(k * parts + i),
                   {mine.ranks[k], static_cast<slot>(as_size(mine.indices[k]) * parts + i)});
}

}  // namespace

redistribution_problem problem_of(const redistribution_algorithm& a, const whole_map& all) noexcept {
  redistribution_problem problem{.algorithm = &a,
                                 .ranks = static_cast<int>(all.of.size()),
                                 .block_bytes = as_size(all.block_bytes),
                                 .block_length = as_size(all.block_bytes)};
  for (const auto& mine : all.of) {
    const std::size_t n = mine.ranks.size();
    if (n > 0) problem.least_blocks = problem.least_blocks == 0 ? n : std::min(problem.least_blocks, n);
    problem.most_blocks = std::max(problem.most_blocks, n);
  }
  return problem;
}

redistribution_load load_of(const whole_map& all, const buffer_choice& buffers) {
  const auto p = static_cast<double>(all.of.size());
  redistribution_load load{.ranks = static_cast<int>(all.of.size()),
                           .block_bytes = static_cast<double>(all.block_bytes),
                           .buffers = buffers.sizes};
  for (std::size_t r = 0; r < all.of.size(); ++r) {
    std::set<int> peers;
    for (const int to : all.of[r].ranks) {
      if (to < 0) load.free += 1 / p;
      if (to >= 0) load.blocks += 1 / p;
      if (to < 0 || to == static_cast<int>(r)) continue;
      load.leaving += 1 / p;
      peers.insert(to);
    }
    load.peers += static_cast<double>(peers.size()) / p;
  }
  load.divide(static_cast<double>(buffers.parts));
  return load;
}

seconds simulated_moves::time(const machine_model& m, std::span<const int> node_of) const {
  std::vector<const schedule*> pointers;
  pointers.reserve(schedules.size());
  for (const schedule& s : schedules) pointers.push_back(&s);
  return evaluate_slowest(pointers, m, node_of);
}

std::optional<simulated_moves> simulate_redistribution(const redistribution_algorithm& a, const whole_map& all,
                                                       std::size_t memory) {
  const redistribution_problem problem = problem_of(a, all);
  const auto choice = choose_buffers(problem, memory);
  if (!choice) return std::nullopt;
  simulated_network network(1, simulated_order::rounds);
  std::vector<rank_tables> ranks(all.of.size());
  std::vector<task> tasks;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    rank_tables& s = ranks[r];
    const buffer_sizes sizes = all.of[r].ranks.empty() ? without_blocks(*choice, problem) : choice->sizes;
    fill(s, all.of[r], choice->parts, sizes);
    s.m = {.memory = &s.budget,
           .rank = static_cast<int>(r),
           .ranks = problem.ranks,
           .map = &*s.map,
           .net = &network.add(*s.units, redistribution_limits(sizes, problem.ranks)),
           .sizes = sizes,
           .parts = static_cast<slot>(choice->parts)};
    tasks.push_back(redistribute_blocks(s.m, a));
  }
  simulated_moves moves;
  recorder seen(ranks, all.block_bytes / static_cast<count_t>(choice->parts), moves);
  network.deadline([&] { seen.next_round(); });
  network.trace([&](const simulated_move& m) { seen.arrive(m); });
  network.watch_messages([&](int from, int to, std::size_t words) { seen.post(from, to, words); },
                         [&](std::size_t words) { seen.collect(words); });
  network.run(tasks);
  seen.finish();
  return moves;
}

}  // namespace taquin::detail
