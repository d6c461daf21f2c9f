#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <numeric>
#include <set>
#include <span>

#include "cli/command.hpp"
#include "cli/offline.hpp"
#include "cli/plan_json.hpp"
#include "schedule/simulated.hpp"
#include "topology/topology.hpp"

namespace taquin::cli {

namespace {

using detail::local_exchange;
using detail::place;
using detail::region;
using detail::schedule;
using nlohmann::json;

constexpr std::size_t most_messages = 200000;  // more than a page can draw
constexpr int most_with_blocks = 64;           // ranks whose messages are told by block

const char* name_of(place where) {
  switch (where) {
    case place::send:
      return "send";
    case place::recv:
      return "receive";
    case place::shared:
      return "shared";
    case place::scratch:
      break;
  }
  return "scratch";
}

detail::topology topology_of(int ranks, int per_node) {
  if (per_node <= 0) return detail::topology::of_single_ranks(ranks);
  std::vector<int> sizes(static_cast<std::size_t>(ranks / per_node), per_node);
  if (ranks % per_node > 0) sizes.push_back(ranks % per_node);
  return detail::topology::of_sizes(sizes);
}

/// The schedules of all ranks, each with what it is made from.
class schedules {
 public:
  schedules(const detail::algorithm& a, const planned& p, const workloads::workload& w, count_t bytes)
      : nodes_(topology_of(p.size.ranks, p.per_node)) {
    workloads::problem_size size = p.size;
    size.bytes = bytes;
    shape_ = offline_shape(w, size, p.kind, buffering::separate);
    if (a.needs_nodes) describe(nodes_, shape_);
    if (!a.supports(shape_)) throw usage(fmt::format("algorithm '{}' does not serve this exchange", a.name));
    std::size_t messages = 0;
    for (int rank = 0; rank < size.ranks; ++rank) {
      parts_.emplace_back(w, size, p.kind, rank);
      local_exchange x = parts_.back().local();
      x.nodes = &nodes_;
      all_.push_back(a.build(x, shape_, p.opts, std::pmr::new_delete_resource()));
      messages += all_.back().messages.size();
      if (messages > most_messages)
        throw usage(fmt::format("more than {} messages: fewer ranks are needed for --json", most_messages));
    }
  }

  [[nodiscard]] const std::vector<schedule>& all() const noexcept { return all_; }
  [[nodiscard]] const detail::shape& shape() const noexcept { return shape_; }

 private:
  detail::topology nodes_;
  detail::shape shape_;
  std::list<offline_rank> parts_;
  std::vector<schedule> all_;
};

using blocks_of_message = std::vector<std::pair<int, int>>;

// What each message carries: the schedules are run with blocks that hold their two ranks.
std::vector<std::vector<blocks_of_message>> cargos(const detail::algorithm& a, const planned& p) {
  using name = std::array<std::int32_t, 2>;
  const auto n = static_cast<std::size_t>(p.size.ranks);
  const schedules built(a, p, workloads::workload::parse("uniform"), static_cast<count_t>(sizeof(name) * n));
  std::vector<std::vector<name>> sent(n, std::vector<name>(n));
  std::vector<std::vector<name>> received(n, std::vector<name>(n));
  std::vector<std::vector<blocks_of_message>> result(n);
  std::vector<detail::simulated_rank> ranks;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) sent[i][j] = {static_cast<int>(i), static_cast<int>(j)};
    const schedule& s = built.all()[i];
    result[i].resize(s.messages.size());
    ranks.push_back(
        {&s, std::as_writable_bytes(std::span(sent[i])).data(), std::as_writable_bytes(std::span(received[i])).data()});
  }
  run_lockstep(ranks, detail::delivery::eager, {}, [&](int rank, std::uint32_t index, std::span<const std::byte> data) {
    for (std::size_t at = 0; at + sizeof(name) <= data.size(); at += sizeof(name)) {
      name block;
      std::memcpy(block.data(), data.data() + at, sizeof block);
      result[static_cast<std::size_t>(rank)][index].emplace_back(block[0], block[1]);
    }
  });
  return result;
}

// Bytes of a rank's scratch that a later round reads before it writes them, after each round.
class scratch_use {
 public:
  explicit scratch_use(const schedule& s) : s_(s), live_(s.scratch_bytes, false), after_(s.rounds.size(), 0) {
    for (std::size_t i = s.rounds.size(); i-- > 0;) {
      after_[i] = std::ranges::count(live_, true);
      visit(i, false);
      visit(i, true);
    }
  }
  [[nodiscard]] count_t after(std::size_t round) const { return after_[round]; }

 private:
  void mark(const region& r, bool live) {
    if (r.where != place::scratch) return;
    const count_t length = r.count * s_.types[r.type].extent;
    for (std::uint32_t k = 0; k < r.repeat; ++k)
      for (count_t b = 0; b < length; ++b) {
        const auto at = static_cast<std::size_t>(r.offset + k * r.stride + b);
        if (at < live_.size()) live_[at] = live;
      }
  }
  // Backwards: what a round writes is not needed before it, what it reads is.
  void visit(std::size_t i, bool reads) {
    for (std::uint32_t m = i == 0 ? 0 : s_.rounds[i - 1].messages_end; m < s_.rounds[i].messages_end; ++m)
      if ((s_.messages[m].way == detail::direction::send) == reads)
        for (std::uint32_t k = 0; k < s_.messages[m].regions; ++k)
          mark(s_.regions[s_.messages[m].first_region + k], reads);
    for (std::uint32_t c = i == 0 ? 0 : s_.rounds[i - 1].copies_end; c < s_.rounds[i].copies_end; ++c)
      mark(reads ? s_.copies[c].from : s_.copies[c].to, reads);
  }

  const schedule& s_;
  std::vector<bool> live_;
  std::vector<count_t> after_;
};

}  // namespace

json plan_of_schedules(const detail::algorithm& a, const planned& p) {
  const schedules built(a, p, p.what, p.size.bytes);
  const bool named = p.size.ranks <= most_with_blocks && built.shape().uniform && built.shape().max_block_bytes > 0 &&
                     p.kind != exchange::form::alltoallw && !a.needs_nodes;
  const auto carried = named ? cargos(a, p) : std::vector<std::vector<blocks_of_message>>{};
  std::vector<json> rounds;
  const auto at = [&](std::size_t i) -> json& {
    while (rounds.size() <= i)
      rounds.push_back({{"messages", json::array()}, {"copies", json::array()}, {"scratch", json::array()}});
    return rounds[i];
  };
  count_t scratch = 0;
  for (std::size_t rank = 0; rank < built.all().size(); ++rank) {
    const schedule& s = built.all()[rank];
    scratch = std::max(scratch, static_cast<count_t>(s.scratch_bytes));
    const scratch_use use(s);
    std::uint32_t m = 0;
    std::uint32_t c = 0;
    std::size_t first = 0;  // drawn round that this one begins at: the stages of its lanes are drawn one by one
    for (std::size_t i = 0; i < s.rounds.size(); ++i) {
      const detail::round& r = s.rounds[i];
      std::vector<std::size_t> stages(std::max<std::size_t>(r.lanes, 1));
      for (; m < r.messages_end; ++m) {
        const detail::message& one = s.messages[m];
        std::size_t& stage = stages[r.lanes > 0 ? one.lane : 0];
        if (r.lanes > 0 && one.waits) ++stage;
        if (one.way != detail::direction::send) continue;
        json line{rank, one.peer, s.bytes(one)};
        if (named) line.push_back(carried[rank][m]);
        at(first + stage)["messages"].push_back(std::move(line));
      }
      for (; c < r.copies_end; ++c)
        at(first)["copies"].push_back(
            {rank, s.bytes(s.copies[c].from), name_of(s.copies[c].from.where), name_of(s.copies[c].to.where)});
      first += std::ranges::max(stages);
      if (use.after(i) > 0) at(first)["scratch"].push_back({rank, use.after(i)});
      ++first;
    }
  }
  return {{"taquin_plan", 1},
          {"algorithm", a.name},
          {"ranks", p.size.ranks},
          {"workload", p.workload},
          {"bytes_per_rank", p.size.bytes},
          {"per_node", p.per_node},
          {"memory", a.memory(built.shape(), p.opts)},
          {"scratch_bytes", scratch},
          {"rounds", rounds}};
}

}  // namespace taquin::cli
