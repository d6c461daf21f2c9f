// Schedules of all ranks as common rounds: the round of each message, the blocks that it carries, and those in scratch.
// For drawings and comparison, as whole.hpp.
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "base/sizes.hpp"
#include "simulation/runner.hpp"
#include "simulation/whole.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

namespace {

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
        const auto byte = as_size(r.offset + k * r.stride + b);
        if (byte < live_.size()) live_[byte] = live;
      }
  }
  // Backwards: bytes that a round writes are not needed before it, bytes that it reads are.
  void visit(std::size_t i, bool reads) {
    const index_range messages = s_.messages_of(i);
    const index_range copies = s_.copies_of(i);
    for (std::uint32_t m = messages.first; m < messages.end; ++m)
      if ((s_.messages[m].direction == message_direction::send) == reads)
        for (std::uint32_t k = 0; k < s_.messages[m].regions; ++k)
          mark(s_.regions[s_.messages[m].first_region + k], reads);
    for (std::uint32_t c = copies.first; c < copies.end; ++c) mark(reads ? s_.copies[c].from : s_.copies[c].to, reads);
  }

  const schedule& s_;
  std::vector<bool> live_;
  std::vector<count_t> after_;
};

// When each rank arrives at each of its messages, if every message takes one round and ends when both ranks have
// arrived at it. A round begins no earlier than its number among all that the rank has, empty ones included.
class pace {
 public:
  explicit pace(const std::vector<schedule>& all) : all_(all), ranks_(all.size()) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      ranks_[r].arrived.resize(all[r].messages.size());
      ranks_[r].peers.resize(all[r].messages.size(), nullptr);
      ranks_[r].begins.resize(all[r].rounds.size());
      ranks_[r].ends.resize(all[r].rounds.size());
    }
    match();
    constexpr int most_sweeps = 10000;
    for (int sweep = 0, changed = 1; changed != 0 && sweep < most_sweeps; ++sweep) {
      changed = 0;
      for (std::size_t r = 0; r < all.size(); ++r) changed |= go(r) ? 1 : 0;
    }
  }
  [[nodiscard]] std::size_t begins(std::size_t rank, std::size_t round) const { return ranks_[rank].begins[round]; }
  [[nodiscard]] std::size_t ends(std::size_t rank, std::size_t round) const { return ranks_[rank].ends[round]; }
  [[nodiscard]] std::size_t of(std::size_t rank, std::uint32_t m) const {
    const one& r = ranks_[rank];
    return r.peers[m] != nullptr ? std::max(r.arrived[m], *r.peers[m]) : r.arrived[m];
  }

 private:
  struct one {
    std::vector<std::size_t> arrived;       // to each message
    std::vector<const std::size_t*> peers;  // when the other rank arrives at it
    std::vector<std::size_t> begins, ends;  // of rounds
  };

  // Messages between two ranks match in their order, tag by tag.
  void match() {
    std::map<std::tuple<int, int, int>, std::deque<std::pair<std::size_t, std::uint32_t>>> sends;
    for (const message_direction direction : {message_direction::send, message_direction::recv})
      for (std::size_t r = 0; r < all_.size(); ++r)
        for (std::uint32_t m = 0; m < all_[r].messages.size(); ++m) {
          const message& each = all_[r].messages[m];
          const int me = static_cast<int>(r);
          if (each.direction != direction) continue;
          auto& waiting = direction == message_direction::send ? sends[{me, each.peer, each.tag}]
                                                               : sends[{each.peer, me, each.tag}];
          if (direction == message_direction::send) {
            waiting.emplace_back(r, m);
          } else if (!waiting.empty()) {
            const auto [from, index] = waiting.front();
            waiting.pop_front();
            ranks_[r].peers[m] = &ranks_[from].arrived[index];
            ranks_[from].peers[index] = &ranks_[r].arrived[m];
          }
        }
  }

  // True when any round of the rank has become later.
  bool go(std::size_t rank) {
    const schedule& s = all_[rank];
    one& mine = ranks_[rank];
    bool later = false;
    std::size_t next = 0;    // the earliest that the round may begin
    std::size_t joined = 0;  // the end of messages that complete with its own
    std::uint32_t m = 0;
    for (std::size_t i = 0; i < s.rounds.size(); ++i) {
      const round& r = s.rounds[i];
      const std::size_t begin = std::max<std::size_t>(next, r.step);
      std::size_t end = begin;
      std::size_t stage = begin;
      std::size_t stage_end = begin;
      for (const std::uint32_t first = m; m < r.messages_end; ++m) {
        if (r.lanes > 0 && m != first && s.messages[m].lane != s.messages[m - 1].lane) {
          stage = stage_end = begin;
        } else if (r.lanes > 0 && m != first && s.messages[m].waits) {
          stage = stage_end + 1;
        }
        later = later || mine.arrived[m] != stage;
        mine.arrived[m] = stage;
        stage_end = std::max({stage_end, stage, of(rank, m)});
        end = std::max(end, stage_end);
      }
      mine.begins[i] = begin;
      mine.ends[i] = r.joins ? begin : std::max(end, joined);
      joined = r.joins ? std::max(end, joined) : 0;
      next = mine.ends[i] + 1;
    }
    return later;
  }

  const std::vector<schedule>& all_;
  std::vector<one> ranks_;
};

// The blocks that each message carries: all ranks' schedules are run twice, with bytes that hold the sender and then
// the receiver of their block, plus 1; bytes of no block are 0.
std::vector<std::vector<whole_moves::block_list>> trace(const whole_exchange& x, const std::vector<schedule>& all) {
  const std::size_t n = all.size();
  std::vector<std::vector<std::byte>> sent(n);
  std::vector<std::vector<std::byte>> received(n);
  std::vector<std::vector<std::vector<std::byte>>> senders(n);
  std::vector<std::vector<whole_moves::block_list>> result(n);
  std::vector<simulated_rank> ranks;
  for (std::size_t r = 0; r < n; ++r) {
    const int rank = static_cast<int>(r);
    sent[r].resize(as_size(x.sent(rank)));
    received[r].resize(as_size(x.received(rank)));
    senders[r].resize(all[r].messages.size());
    result[r].resize(all[r].messages.size());
    ranks.push_back({&all[r], sent[r].data(), received[r].data(), x.nodes != nullptr ? x.nodes->nodes().group[r] : -1});
  }
  const auto run = [&](int origin::*which, const watcher& deadline) {
    for (int rank = 0; rank < x.ranks(); ++rank) {
      auto to = sent[as_size(rank)].begin();
      for (int peer = 0; peer < x.ranks(); ++peer)
        for (const origin& o : x.origins(rank, peer, 0, x.bytes(rank, peer)))
          to = std::fill_n(to, o.bytes, static_cast<std::byte>(o.*which + 1));
    }
    run_simulated(ranks, delivery::eager, {}, deadline);
  };
  run(&origin::from, [&](int rank, std::uint32_t index, std::span<const std::byte> data) {
    if (all[as_size(rank)].messages[index].direction == message_direction::send)
      senders[as_size(rank)][index].assign(data.begin(), data.end());
  });
  run(&origin::to, [&](int rank, std::uint32_t index, std::span<const std::byte> data) {
    if (all[as_size(rank)].messages[index].direction != message_direction::send) return;
    whole_moves::block_list& blocks = result[as_size(rank)][index];
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::pair<int, int> block{static_cast<int>(senders[as_size(rank)][index][i]) - 1,
                                      static_cast<int>(data[i]) - 1};
      if (block.first >= 0 && (blocks.empty() || blocks.back() != block)) blocks.push_back(block);
    }
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  });
  return result;
}

}  // namespace

std::size_t add_schedules(const whole_exchange& x, const std::vector<schedule>& all, const moves_target& to) {
  const pace when(all);
  auto piggybacked = x.traced ? trace(x, all) : std::vector<std::vector<whole_moves::block_list>>{};
  std::size_t end = to.first;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const schedule& s = all[r];
    const int rank = to.members[r];
    to.all.scratch_bytes = std::max(to.all.scratch_bytes, s.scratch_bytes);
    const scratch_use use(s);
    std::uint32_t m = 0;
    std::uint32_t c = 0;
    for (std::size_t i = 0; i < s.rounds.size(); ++i) {
      for (; m < s.rounds[i].messages_end; ++m)
        if (const message& each = s.messages[m]; each.direction == message_direction::send)
          to.all.send(to.first + when.of(r, m),
                      {rank, to.members[as_size(each.peer)], s.bytes(each),
                       piggybacked.empty() ? whole_moves::block_list{} : std::move(piggybacked[r][m])});
      for (; c < s.rounds[i].copies_end; ++c)
        to.all.copy(to.first + when.begins(r, i),
                    {rank, s.bytes(s.copies[c].from), s.copies[c].from.where, s.copies[c].to.where});
      const std::size_t until = i + 1 < s.rounds.size() ? when.ends(r, i + 1) : when.ends(r, i) + 1;
      for (std::size_t k = when.ends(r, i); k < until; ++k) to.all.keep(to.first + k, {rank, use.after(i)});
      end = std::max(end, to.first + when.ends(r, i) + 1);
    }
  }
  return end;
}

}  // namespace taquin::detail
