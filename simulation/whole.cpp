#include "simulation/whole.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/sizes.hpp"
#include "simulation/moves.hpp"

namespace taquin::detail {

namespace {

std::vector<count_t> in_a_row(const std::vector<count_t>& counts) {
  std::vector<count_t> displs(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), count_t{0});
  return displs;
}

[[noreturn]] void throw_too_many(std::size_t most = whole_moves::most_messages) {
  throw too_many_messages(fmt::format("more than {} messages", most));
}

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

void whole_exchange::add(int from, int to, const whole_exchange& x, int i, int j, count_t offset, count_t bytes) {
  this->bytes(from, to) += bytes;
  if (!traced || bytes == 0) return;
  origins_.resize(bytes_.size());
  auto& mine = origins_[index(from, to)];
  const auto more = x.origins(i, j, offset, bytes);
  mine.insert(mine.end(), more.begin(), more.end());
}

std::vector<origin> whole_exchange::origins(int from, int to, count_t offset, count_t bytes) const {
  if (origins_.empty()) return {{from, to, bytes}};
  std::vector<origin> result;
  for (origin o : origins_[index(from, to)]) {
    const count_t skipped = std::min(offset, o.bytes);
    offset -= skipped;
    o.bytes = std::min(o.bytes - skipped, bytes);
    bytes -= o.bytes;
    if (o.bytes > 0) result.push_back(o);
  }
  return result;
}

whole_exchange::whole_exchange(int ranks, exchange::form kind)
    : ranks_(ranks), kind_(kind), bytes_(as_size(ranks) * as_size(ranks)) {}

known_part whole_exchange::part(int rank) const {
  std::vector<count_t> sent(as_size(ranks_));
  std::vector<count_t> received(as_size(ranks_));
  for (int peer = 0; peer < ranks_; ++peer) {
    sent[as_size(peer)] = bytes(rank, peer);
    received[as_size(peer)] = bytes(peer, rank);
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

void whole_moves::send(std::size_t where, message m) {
  if (m.bytes == 0 || m.from == m.to) return;
  if (++messages_ > most) throw_too_many(most);
  at(where).messages.push_back(std::move(m));
}

void whole_moves::copy(std::size_t where, const copied& c) {
  if (c.bytes > 0) at(where).copies.push_back(c);
}

void whole_moves::keep(std::size_t where, const kept& k) {
  if (k.bytes > 0) at(where).scratch.push_back(k);
}

void whole_moves::drop_empty_rounds() {
  std::erase_if(rounds, [](const round& r) { return r.messages.empty() && r.copies.empty(); });
}

std::size_t add_moves(const algorithm& a, const whole_exchange& x, const shape& s, const options& o,
                      const moves_target& to) {
  struct drawn {
    const algorithm* which;
    std::size_t (*moves)(const whole_exchange&, const shape&, const options&, const moves_target&);
  };
  static constexpr std::array special{
      drawn{&bruck_v, moves_of_bruck_v},
      drawn{&multilevel, moves_of_multilevel},
      drawn{&native, moves_of_native},
      drawn{&node_aggregated, moves_of_node_aggregated},
      drawn{&shared_memory, moves_of_shared_memory},
      drawn{&two_phase, moves_of_two_phase},
      drawn{&zero_copy_bruck_v, moves_of_zero_copy_bruck_v},
  };
  for (const drawn& each : special)
    if (each.which == &a) return each.moves(x, s, o, to);
  if (a.build == nullptr) {
    to.all.note = "The moves of this algorithm depend on what arrives: they are not known in advance.";
    return to.first;
  }
  std::vector<schedule> all;
  std::size_t messages = 0;
  for (int rank = 0; rank < x.ranks(); ++rank) {
    const known_part part = x.part(rank);
    local_exchange mine = part.local();
    mine.nodes = x.nodes;
    all.push_back(a.build(mine, s, o, std::pmr::new_delete_resource()));
    messages += all.back().messages.size() / 2;
    if (messages > whole_moves::most_messages) throw_too_many();
  }
  return add_schedules(x, all, to);
}

}  // namespace taquin::detail
