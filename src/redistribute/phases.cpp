#include "redistribute/phases.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/sizes.hpp"
#include "redistribute/cost.hpp"

namespace taquin::detail {

namespace {

using words = std::pmr::vector<word>;

// A rank's numbers in a phase. Per rank: blocks that it has for it, that it may send, that it takes from it.
struct phase {
  explicit phase(machine& m)
      : begin(m.memory),
        out(m.memory),
        send(m.memory),
        take(m.memory),
        scratch(m.memory),
        scratch_in(m.memory),
        parked(m.memory) {
    array_list::take(*this, as_size(m.ranks));
  }

  words begin;  // where a rank's blocks begin, sorted
  words out;
  words send;
  words take;
  words scratch;
  words scratch_in;
  std::pmr::vector<slot_range> parked;  // {rank, blocks}: to it if this rank parks, from it if it has space
  slot live = 0;
  slot space = 0;
  slot parks_from = 0;  // the first of the blocks that this rank parks
  bool parks = false;

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&phase::begin, ranks + 1);
    for (auto list : {&phase::out, &phase::send, &phase::take}) each(list, ranks);
    for (auto list : {&phase::scratch, &phase::scratch_in}) each(list, 2 * ranks);
    each(&phase::parked, at_most{ranks});
  }
};

// The pairs of ranks, one that parks and one with space, that the root sends to them.
struct parking_answers {
  explicit parking_answers(std::pmr::memory_resource* memory)
      : at(memory), reported(memory), next(memory), mine_at(memory), mine(memory) {}
  detail::words at;  // where each rank's answers begin; on the root they are
  words reported;
  detail::words next;
  detail::words mine_at;
  detail::words mine;

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks, std::size_t all, std::size_t own) {
    for (auto list : {&parking_answers::at, &parking_answers::mine_at}) each(list, ranks + 1);
    each(&parking_answers::next, ranks);
    each(&parking_answers::reported, all);
    each(&parking_answers::mine, own);
  }
};

// The destinations of blocks that move in a phase, as they are sent and received.
struct addresses {
  explicit addresses(std::pmr::memory_resource* memory) : out(memory), out_at(memory), in(memory), in_at(memory) {}
  words out;
  words out_at;
  words in;
  words in_at;

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks, std::size_t sent, std::size_t received) {
    for (auto list : {&addresses::out_at, &addresses::in_at}) each(list, ranks + 1);
    each(&addresses::out, sent);
    each(&addresses::in, received);
  }
};

// Of sorted blocks: counts them by rank.
void survey(const machine& m, phase& f) {
  m.map->begins(f.begin);
  for (std::size_t r = 0; r < f.out.size(); ++r) f.out[r] = f.begin[r + 1] - f.begin[r];
  f.live = f.begin.back();
  f.space = f.live < m.blocks() ? m.blocks() - f.live : 0;
  f.out[as_size(m.rank)] = 0;
}

// The extra slot is not contiguous with the array: its block is sent alone, or waits for another phase.
void leave_extra(machine& m, phase& f) {
  if (f.live <= m.blocks()) return;
  for (std::size_t r = f.out.size(); r-- > 0;)
    if (f.begin[r] < f.live) {
      if (f.out[r] > 1) --f.out[r];
      return;
    }
}

// First fit, in order of rank, of the blocks that others request to send.
void grant(phase& f, std::span<const word> requests) {
  slot space = f.space;
  for (std::size_t r = 0; r < f.take.size(); ++r) space -= f.take[r] = std::min(requests[r], space);
  f.space = space;
}

// How many blocks this rank would have to park so that all blocks for it fit, and where they are: in its longest run
// that does not leave in this phase.
slot wish_to_park(machine& m, phase& f, std::uint64_t refused) {
  const std::uint64_t leaving = std::accumulate(f.send.begin(), f.send.end(), std::uint64_t{0});
  slot longest = 0;
  for (std::size_t r = 0; r < f.out.size(); ++r) {
    if (static_cast<int>(r) == m.rank || f.out[r] - f.send[r] <= longest) continue;
    longest = f.out[r] - f.send[r];
    f.parks_from = f.begin[r] + f.send[r];
  }
  if (f.parks_from < m.blocks()) longest = std::min(longest, m.blocks() - f.parks_from);
  return static_cast<slot>(std::min<std::uint64_t>(refused > leaving ? refused - leaving : 0, longest));
}

// The root: parkers in order of rank to spaces in order of rank. Calls with (parker, host, blocks).
template <class Found>
void match(std::span<word> wishes, Found found) {
  const std::size_t p = wishes.size() / 2;
  std::size_t host = 0;
  for (std::size_t r = 0; r < p; ++r)
    while (wishes[2 * r] > 0) {
      while (host < p && wishes[2 * host + 1] == 0) ++host;
      if (host == p) return;
      const word n = std::min(wishes[2 * r], wishes[2 * host + 1]);
      found(r, host, n);
      wishes[2 * r] -= n;
      wishes[2 * host + 1] -= n;
    }
}

task agree_on_parking(machine& m, phase& f, std::uint64_t refused) {
  constexpr std::size_t root = 0;
  const std::size_t p = f.out.size();
  // A parked block has two words, a granted one has one: together no more than the rank has places, and one.
  const std::uint64_t granted = std::accumulate(f.send.begin(), f.send.end(), std::uint64_t{0}) +
                                std::accumulate(f.take.begin(), f.take.end(), std::uint64_t{0});
  const slot most = (m.blocks() + 1 - static_cast<slot>(std::min<std::uint64_t>(granted, m.blocks() + 1))) / 2;
  const slot wish = std::min(wish_to_park(m, f, refused), most);
  f.parks = wish > 0;
  f.parked.clear();
  std::ranges::fill(f.scratch, 0U);
  f.scratch[2 * root] = wish;
  f.scratch[2 * root + 1] = f.parks ? 0 : std::min(f.space, most);
  co_await m.net->alltoall(f.scratch, f.scratch_in, 2);

  parking_answers a(m.memory);
  array_list::take(a, p, 0U, 0U);
  if (m.rank == static_cast<int>(root)) {
    std::ranges::copy(f.scratch_in, f.scratch.begin());
    match(f.scratch, [&](std::size_t r, std::size_t host, word) { a.at[r] += 2, a.at[host] += 2; });
    std::exclusive_scan(a.at.begin(), a.at.end(), a.at.begin(), 0U);
    array_list::take(a, p, a.at[p], 0U);
    std::copy_n(a.at.begin(), p, a.next.begin());
    const auto report = [&a](std::size_t rank, std::size_t of, word n) {
      word& next = a.next[rank];
      a.reported[next] = static_cast<word>(of);
      a.reported[next + 1] = n;
      next += 2;
    };
    match(f.scratch_in, [&](std::size_t r, std::size_t host, word n) {
      report(r, host, n);
      report(host, r, n);
    });
  }
  for (std::size_t r = 0; r < p; ++r) f.scratch[r] = a.at[r + 1] - a.at[r];
  co_await m.net->alltoall(std::span(f.scratch).first(p), std::span(f.scratch_in).first(p));
  std::fill(a.mine_at.begin() + 1, a.mine_at.end(), f.scratch_in[root]);
  array_list::take(a, p, a.at[p], a.mine_at[p]);
  co_await m.net->exchange(a.reported, a.at, a.mine, a.mine_at);
  for (std::size_t i = 0; i < a.mine.size(); i += 2) f.parked.push_back({a.mine[i], a.mine[i + 1]});
}

// The destinations of moving blocks: the index for a block that is granted, rank and index for one that is parked.
task exchange_addresses(machine& m, phase& f, addresses& all) {
  const std::size_t p = f.out.size();
  array_list::take(all, p, 0U, 0U);
  auto& [out, out_at, in, in_at] = all;
  for (std::size_t r = 0; r < p; ++r) {
    out_at[r + 1] = f.send[r];
    in_at[r + 1] = f.take[r];
  }
  for (const auto& [peer, n] : f.parked) (f.parks ? out_at : in_at)[peer + 1] += 2 * n;
  std::inclusive_scan(out_at.begin(), out_at.end(), out_at.begin());
  std::inclusive_scan(in_at.begin(), in_at.end(), in_at.begin());
  array_list::take(all, p, out_at[p], in_at[p]);
  const block_map& map = *m.map;
  for (std::size_t r = 0; r < p; ++r)
    for (slot k = 0; k < f.send[r]; ++k) out[out_at[r] + k] = map[f.begin[r] + k].index;
  slot from = f.parks_from;
  if (f.parks)
    for (const auto& [peer, n] : f.parked) {
      word* to = out.data() + out_at[peer] + f.send[peer];
      for (slot k = 0; k < n; ++k, ++from) {
        *to++ = static_cast<word>(map[from].rank);
        *to++ = map[from].index;
      }
    }
  co_await m.net->exchange(out, out_at, in, in_at);
}

// Moves the blocks: at most one message of granted and one of parked blocks per pair of ranks.
task transfer(machine& m, phase& f) {
  block_map& map = *m.map;
  addresses all(m.memory);
  co_await exchange_addresses(m, f, all);
  const auto& [out, out_at, in, in_at] = all;
  int pending = 0;
  slot into = f.live;
  const auto receive = [&](std::size_t from, slot n) {
    m.net->receive(static_cast<int>(from), unit_run{into, n}, 0);
    into += n;
    ++pending;
  };
  const auto send = [&](std::size_t to, const unit_run& leaving) {
    if (m.net->send(static_cast<int>(to), leaving, 0)) {
      map.clear(leaving);
    } else {
      ++pending;
    }
  };
  for (std::size_t r = 0; r < f.take.size(); ++r) {
    for (slot k = 0; k < f.take[r]; ++k) map.expect(into + k, {m.rank, in[in_at[r] + k]});
    if (f.take[r] > 0) receive(r, f.take[r]);
  }
  if (!f.parks)
    for (const auto& [peer, n] : f.parked) {
      const word* at = in.data() + in_at[peer] + f.take[peer];
      for (slot k = 0; k < n; ++k, at += 2) map.expect(into + k, {static_cast<std::int32_t>(at[0]), at[1]});
      receive(peer, n);
    }
  if (m.sizes.gated) {
    m.net->post_now();
    std::array<std::uint64_t, 1> nothing{};
    co_await m.net->sum(nothing);
  }
  for (std::size_t r = 0; r < f.send.size(); ++r)
    if (f.send[r] > 0) send(r, {f.begin[r], f.send[r]});
  slot from = f.parks_from;
  if (f.parks)
    for (const auto& [peer, n] : f.parked) {
      send(peer, {from, n});
      from += n;
    }
  for (; pending > 0; --pending) m.settle(co_await m.net->next());
}

}  // namespace

// Blocks that leave have a place, and incoming ones need one: a word for each place, and one. A rank parks or has
// space: there are fewer pairs than ranks, and two words for either rank of a pair.
std::size_t phases_bytes(const table_sizes& s, bool park) noexcept {
  const std::size_t moving = array_list::bytes<addresses>(s.ranks, s.blocks + 1, 0U);
  const std::size_t answers = park ? array_list::bytes<parking_answers>(s.ranks, 4 * s.ranks, 2 * s.ranks) : 0;
  return array_list::bytes<phase>(s.ranks) + std::max({moving, answers, block_map::sort_bytes(s.slots(), s.ranks)});
}

// Each phase fills the free space of each rank. Without any, one block moves in a phase, on one rank. Blocks of several
// ranks arrive out of order.
seconds phases_cost(const redistribution_load& l, const machine_model& m, bool park) noexcept {
  const redistribution_terms t(l, m);
  if (l.peers <= 0) return t.collective(4);
  const double moving = std::clamp(l.free, 1.0 / l.ranks, l.leaving);
  const double phases = std::ceil(l.leaving / moving);
  const double counts = 0.5 * l.ranks;
  const seconds agreeing =
      t.collective(4) + 2 * t.collective(counts) + (park ? t.collective(2 * counts) + 2 * t.collective(counts) : 0);
  return phases * (agreeing + t.collective(0.5 * moving) + t.transfer(1, std::min(l.peers, moving), moving) +
                   t.copies(l.blocks)) +
         (l.peers > 1 ? t.copies(l.blocks) : 0);
}

task run_phases(machine& m, bool park) {
  if (m.known != nullptr) m.known->forget_order();
  phase f(m);
  std::uint64_t left_before = 0;
  int fruitless = 0;
  for (;;) {
    co_await sort_by_rank(m);
    survey(m, f);
    std::array<std::uint64_t, 2> sums{std::accumulate(f.out.begin(), f.out.end(), std::uint64_t{0}), f.space};
    co_await m.net->sum(sums);
    const auto [left, space] = sums;
    if (left == 0) co_return;
    if (left_before > 0) {
      const std::uint64_t settled = left_before - left;
      fruitless = settled == 0 ? fruitless + 1 : 0;
      if (static_cast<double>(settled) < m.least_progress * static_cast<double>(left_before)) {
        m.hand_over = m.successor;
        co_return;
      }
      if (fruitless > m.ranks) {
        m.hand_over = "slots";
        co_return;
      }
      if (!park && settled == 0) {
        m.hand_over = "parking";
        co_return;
      }
    }
    left_before = left;
    if (park && space == 0 && m.rank == 0) f.space = 1;  // the extra slot, if there is no free one at all
    leave_extra(m, f);

    std::ranges::copy(f.out, f.scratch.begin());
    const auto requests = std::span(f.scratch_in).first(f.out.size());
    co_await m.net->alltoall(std::span(f.scratch).first(f.out.size()), requests);
    const std::uint64_t requested = std::accumulate(requests.begin(), requests.end(), std::uint64_t{0});
    grant(f, requests);
    const std::uint64_t taken = std::accumulate(f.take.begin(), f.take.end(), std::uint64_t{0});
    co_await m.net->alltoall(f.take, f.send);
    f.parks = false;
    f.parked.clear();
    if (park) co_await agree_on_parking(m, f, requested - taken);
    co_await transfer(m, f);
    ++m.rounds;
  }
}

}  // namespace taquin::detail
