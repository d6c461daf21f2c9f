// Many ranks' logs become one traffic: each rank knows its own rows and its own order.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>

#include "interpose/observe/log.hpp"

namespace taquin::interpose {

namespace {

using workloads::byte_matrix;
using workloads::recorded_call;
using workloads::traffic;

// The rest of a run of calls, and its place in its rank's order.
struct pending {
  const run_of_calls* run;
  std::uint64_t left;
  std::size_t place;
};

// One communicator, with the calls that each of its ranks still has.
struct lane {
  std::vector<int> world_ranks;
  std::vector<std::deque<pending>> calls;
};

struct assembly {
  const std::vector<rank_log>& logs;
  std::map<comm_id, lane> lanes{};
  std::vector<std::vector<comm_id>> order{};  // of each rank's runs
  std::vector<std::size_t> next{};            // each rank's first run that is not used up
  std::map<std::vector<int>, std::size_t> groups{};
  std::map<std::vector<std::uint64_t>, std::size_t> matrices{};
  traffic out{};

  explicit assembly(const std::vector<rank_log>& all) : logs(all), order(all.size()), next(all.size(), 0) {
    for (std::size_t rank = 0; rank < logs.size(); ++rank) {
      for (const known_comm& c : logs[rank].comms) {
        lane& l = lanes[c.id];
        l.world_ranks = c.world_ranks;
        l.calls.resize(c.world_ranks.size());
      }
      for (const run_of_calls& run : logs[rank].runs) {
        const known_comm& c = logs[rank].comms[run.what.comm];
        lanes[c.id].calls[static_cast<std::size_t>(c.rank)].push_back({&run, run.repeats, order[rank].size()});
        order[rank].push_back(c.id);
      }
    }
  }

  [[nodiscard]] static bool complete(const lane& l) {
    return std::ranges::none_of(l.calls, [](const auto& queue) { return queue.empty(); });
  }

  // All ranks of the lane have reached their call on it.
  [[nodiscard]] bool due(const lane& l) const {
    for (std::size_t i = 0; i < l.calls.size(); ++i)
      if (l.calls[i].empty() || l.calls[i].front().place != next[static_cast<std::size_t>(l.world_ranks[i])])
        return false;
    return true;
  }

  // Follows the ranks that wait for each other to a lane that is due. If threads have made calls on several
  // communicators concurrently, any lane will do on which all its ranks have a call.
  lane* choose() {
    for (std::size_t rank = 0; rank < logs.size(); ++rank)
      if (next[rank] < order[rank].size())
        if (lane& l = lanes[order[rank][next[rank]]]; due(l)) return &l;
    for (auto& [id, l] : lanes)
      if (complete(l)) return &l;
    return nullptr;
  }

  std::size_t matrix_of(const lane& l) {
    std::vector<std::uint64_t> key;
    for (std::size_t i = 0; i < l.calls.size(); ++i) {
      key.push_back(static_cast<std::uint64_t>(l.world_ranks[i]));
      key.push_back(l.calls[i].front().run->what.row);
    }
    const auto [found, fresh] = matrices.emplace(std::move(key), out.matrices.size());
    if (!fresh) return found->second;
    std::vector<byte_matrix::flow> flows;
    for (std::size_t i = 0; i < l.calls.size(); ++i) {
      const rank_log& log = logs[static_cast<std::size_t>(l.world_ranks[i])];
      const auto& row = log.rows[l.calls[i].front().run->what.row];
      for (std::size_t to = 0; to < row.size(); ++to)
        if (row[to] > 0) flows.push_back({static_cast<int>(i), static_cast<int>(to), row[to]});
    }
    byte_matrix m(static_cast<int>(l.calls.size()), std::move(flows));
    // The same bytes may come from other ranks.
    if (const auto same = std::ranges::find(out.matrices, m); same != out.matrices.end())
      return found->second = static_cast<std::size_t>(same - out.matrices.begin());
    out.matrices.push_back(std::move(m));
    return found->second;
  }

  void take(lane& l) {
    std::uint64_t repeats = std::numeric_limits<std::uint64_t>::max();
    for (const auto& queue : l.calls) repeats = std::min(repeats, queue.front().left);
    const auto [group, fresh] = groups.emplace(l.world_ranks, out.communicators.size());
    if (fresh) out.communicators.push_back(l.world_ranks);

    recorded_call c;
    c.communicator = group->second;
    c.matrix = matrix_of(l);
    c.repeats = repeats;
    c.element_bytes = 0;
    for (const auto& queue : l.calls) {
      const run_of_calls& run = *queue.front().run;
      c.kind = run.what.kind;
      c.form = run.what.form;
      c.in_flight = std::max(c.in_flight, run.what.in_flight);
      c.in_place = c.in_place || run.what.in_place;
      c.element_bytes = std::gcd(c.element_bytes, run.what.element_bytes);
      c.seconds.min = std::max(c.seconds.min, run.min);
      c.seconds.mean = std::max(c.seconds.mean, run.total / static_cast<double>(run.repeats));
      c.seconds.max = std::max(c.seconds.max, run.max);
      c.seconds.waiting = std::max(c.seconds.waiting, run.waiting / static_cast<double>(run.repeats));
    }
    if (c.element_bytes == 0) c.element_bytes = 1;
    append(c);

    for (std::size_t i = 0; i < l.calls.size(); ++i) {
      auto& queue = l.calls[i];
      queue.front().left -= repeats;
      if (queue.front().left > 0) continue;
      const auto rank = static_cast<std::size_t>(l.world_ranks[i]);
      next[rank] = std::max(next[rank], queue.front().place + 1);
      queue.pop_front();
    }
  }

  // Calls on two communicators of the same ranks may turn out equal only here.
  void append(const recorded_call& c) {
    if (!out.calls.empty()) {
      recorded_call& last = out.calls.back();
      recorded_call as_last = c;
      as_last.repeats = last.repeats;
      as_last.seconds = last.seconds;
      if (as_last == last) {
        const auto n = static_cast<double>(last.repeats);
        const auto m = static_cast<double>(c.repeats);
        last.seconds = {
            std::min(last.seconds.min, c.seconds.min), (last.seconds.mean * n + c.seconds.mean * m) / (n + m),
            std::max(last.seconds.max, c.seconds.max), (last.seconds.waiting * n + c.seconds.waiting * m) / (n + m)};
        last.repeats += c.repeats;
        return;
      }
    }
    out.calls.push_back(c);
  }
};

}  // namespace

void close_entries(std::vector<rank_log>& logs) {
  struct place {
    rank_log* log;
    const known_comm* comm;
    const std::vector<entry>* open;
  };
  std::map<comm_id, std::vector<place>> comms;
  for (rank_log& log : logs)
    for (std::size_t i = 0; i < log.comms.size() && i < log.open.size(); ++i)
      comms[log.comms[i].id].push_back({&log, &log.comms[i], &log.open[i]});
  for (auto& [id, ranks] : comms) {
    std::size_t calls = ranks.front().open->size();
    if (ranks.size() != ranks.front().comm->world_ranks.size()) continue;
    for (const place& p : ranks) calls = std::min(calls, p.open->size());
    for (std::size_t call = 0; call < calls; ++call) {
      const auto begin = [&](const place& p) { return (*p.open)[call].begin; };
      const auto [first, last] = std::ranges::minmax_element(ranks, {}, begin);
      for (const place& p : ranks) {
        const entry& e = (*p.open)[call];
        if (e.run == entry::failed) continue;
        p.log->waited(e, begin(*last) - e.begin, e.begin - begin(*first), last->comm->rank);
      }
    }
  }
}

traffic assemble(const std::vector<rank_log>& logs) {
  assembly a(logs);
  if (!logs.empty()) a.out.program = logs.front().program;
  a.out.ranks = static_cast<int>(logs.size());
  while (lane* l = a.choose()) a.take(*l);
  return std::move(a.out);
}

}  // namespace taquin::interpose
