#include "algorithms/whole.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace taquin::detail {

namespace {

std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

std::vector<count_t> in_a_row(const std::vector<count_t>& counts) {
  std::vector<count_t> displs(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), count_t{0});
  return displs;
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
        const auto byte = static_cast<std::size_t>(r.offset + k * r.stride + b);
        if (byte < live_.size()) live_[byte] = live;
      }
  }
  // Backwards: what a round writes is not needed before it, what it reads is.
  void visit(std::size_t i, bool reads) {
    for (std::uint32_t m = i == 0 ? 0 : s_.rounds[i - 1].messages_end; m < s_.rounds[i].messages_end; ++m)
      if ((s_.messages[m].way == direction::send) == reads)
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

known_part::known_part(exchange::form kind, int rank, std::vector<count_t> sent, std::vector<count_t> received)
    : kind_(kind), rank_(rank) {
  send_.counts = std::move(sent);
  recv_.counts = std::move(received);
  send_.displs = in_a_row(send_.counts);
  recv_.displs = in_a_row(recv_.counts);
  if (kind == exchange::form::alltoallw) elements_.assign(send_.counts.size(), element::bytes(1));
}

blocks known_part::view(const side& s) const noexcept {
  return {nullptr,
          count_view(s.counts.data()),
          count_view(s.displs.data()),
          1,
          element::bytes(1),
          nullptr,
          kind_ == exchange::form::alltoallw ? elements_.data() : nullptr};
}

local_exchange known_part::local() const noexcept {
  local_exchange x{.rank = rank_, .ranks = static_cast<int>(send_.counts.size())};
  x.send = view(send_);
  x.recv = view(recv_);
  return x;
}

whole_exchange::whole_exchange(int ranks, exchange::form kind)
    : ranks_(ranks), kind_(kind), bytes_(at(ranks) * at(ranks)) {}

known_part whole_exchange::part(int rank) const {
  std::vector<count_t> sent(at(ranks_));
  std::vector<count_t> received(at(ranks_));
  for (int peer = 0; peer < ranks_; ++peer) {
    sent[at(peer)] = bytes(rank, peer);
    received[at(peer)] = bytes(peer, rank);
  }
  return {kind_, rank, std::move(sent), std::move(received)};
}

count_t whole_exchange::sent(int rank) const noexcept {
  count_t sum = 0;
  for (int to = 0; to < ranks_; ++to) sum += bytes(rank, to);
  return sum;
}

count_t whole_exchange::received(int rank) const noexcept {
  count_t sum = 0;
  for (int from = 0; from < ranks_; ++from) sum += bytes(from, rank);
  return sum;
}

whole_moves::round& whole_moves::at(std::size_t i) {
  if (rounds.size() <= i) rounds.resize(i + 1);
  return rounds[i];
}

void whole_moves::send(std::size_t where, const message& m) {
  if (m.bytes == 0 || m.from == m.to) return;
  if (++messages_ > most_messages) throw too_many_messages(fmt::format("more than {} messages", most_messages));
  at(where).messages.push_back(m);
}

void whole_moves::copy(std::size_t where, const copied& c) {
  if (c.bytes > 0) at(where).copies.push_back(c);
}

void whole_moves::keep(std::size_t where, const kept& k) {
  if (k.bytes > 0) at(where).scratch.push_back(k);
}

std::size_t whole_moves::add(const schedule& s, int rank, std::span<const int> members, std::size_t first) {
  scratch_bytes = std::max(scratch_bytes, s.scratch_bytes);
  const scratch_use use(s);
  std::uint32_t m = 0;
  std::uint32_t c = 0;
  for (std::size_t i = 0; i < s.rounds.size(); ++i) {
    const detail::round& r = s.rounds[i];
    std::vector<std::size_t> stages(std::max<std::size_t>(r.lanes, 1));  // of lanes, which are told one by one
    for (; m < r.messages_end; ++m) {
      const detail::message& one = s.messages[m];
      std::size_t& stage = stages[r.lanes > 0 ? one.lane : 0];
      if (r.lanes > 0 && one.waits) ++stage;
      if (one.way == direction::send)
        send(first + stage, {rank, members[static_cast<std::size_t>(one.peer)], s.bytes(one), m});
    }
    for (; c < r.copies_end; ++c)
      copy(first, {rank, s.bytes(s.copies[c].from), s.copies[c].from.where, s.copies[c].to.where});
    first += std::ranges::max(stages);
    keep(first, {rank, use.after(i)});
    ++first;
  }
  return first;
}

std::size_t add_schedules(const std::vector<schedule>& all, const moves_target& to) {
  std::size_t end = to.first;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    end = std::max(end, to.all.add(all[rank], to.members[rank], to.members, to.first));
  return end;
}

std::size_t add_moves(const algorithm& a, const whole_exchange& x, const shape& s, const options& o,
                      const moves_target& to) {
  if (a.moves != nullptr) return a.moves(x, s, o, to);
  if (a.build == nullptr) {
    to.all.note = "The moves of this algorithm depend on what arrives: they are not known in advance.";
    return to.first;
  }
  std::size_t end = to.first;
  for (int rank = 0; rank < x.ranks(); ++rank) {
    const known_part part = x.part(rank);
    local_exchange mine = part.local();
    mine.nodes = x.nodes;
    const schedule one = a.build(mine, s, o, std::pmr::new_delete_resource());
    end = std::max(end, to.all.add(one, to.members[at(rank)], to.members, to.first));
  }
  return end;
}

}  // namespace taquin::detail
