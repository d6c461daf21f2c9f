#include "schedule/schedule.hpp"

#include <algorithm>
#include <utility>

namespace taquin::detail {

std::size_t schedule_size::bytes() const noexcept { return array_list::bytes<schedule>(*this); }

schedule::schedule(std::pmr::memory_resource* memory, const schedule_size& size)
    : types(memory), regions(memory), messages(memory), copies(memory), rounds(memory) {
  array_list::take(*this, size);
}

std::uint32_t schedule::add_type(const element& e) {
  types.push_back(e);
  return static_cast<std::uint32_t>(types.size() - 1);
}

void schedule::add_types(const local_exchange& x) {
  const auto add_side = [&](const blocks& side) {
    if (side.elements == nullptr) {
      types.push_back(side.element);
    } else {
      types.insert(types.end(), side.elements, side.elements + x.ranks);
    }
  };
  add_side(x.send);
  recv_types_ = static_cast<std::uint32_t>(types.size());
  add_side(x.recv);
}

region schedule::send_block(const local_exchange& x, int peer) const {
  const block b = x.send[peer];
  return {b.offset, b.count, 0, 1, static_cast<std::uint32_t>(x.send.elements != nullptr ? peer : 0), place::send};
}

region schedule::recv_block(const local_exchange& x, int peer) const {
  const block b = x.recv[peer];
  const auto own = static_cast<std::uint32_t>(x.recv.elements != nullptr ? peer : 0);
  return {b.offset, b.count, 0, 1, recv_types_ + own, place::recv};
}

count_t schedule::bytes(const region& r) const noexcept { return r.count * r.repeat * types[r.type].size; }

count_t schedule::bytes(const message& m) const noexcept {
  count_t sum = 0;
  for (std::uint32_t i = 0; i < m.regions; ++i) sum += bytes(regions[m.first_region + i]);
  return sum;
}

void schedule::add(int peer, message_direction direction, packing how, const region* first, std::size_t n) {
  const auto begin = static_cast<std::uint32_t>(regions.size());
  for (std::size_t i = 0; i < n; ++i)
    if (bytes(first[i]) > 0) regions.push_back(first[i]);
  const auto added = static_cast<std::uint32_t>(regions.size()) - begin;
  if (added > 0) messages.push_back({peer, begin, added, direction, how, lane_, tag_, std::exchange(waits_, false)});
}

// Among very many messages no search is made: to mark them is safe, and only costs an answer now and then.
void schedule::mark_one_way() noexcept {
  constexpr std::size_t many = 4096;
  for (message& m : messages) {
    if (m.direction != message_direction::send) continue;
    m.one_way = messages.size() > many || std::ranges::none_of(messages, [&](const message& other) {
                  return other.direction == message_direction::recv && other.peer == m.peer;
                });
  }
}

void schedule::add_copy(const region& from, const region& to, merge how) {
  if (bytes(from) > 0) copies.push_back({from, to, how});
}

void schedule::begin_lane(int lane) {
  lane_ = tag_ = static_cast<std::uint8_t>(lane);
  waits_ = false;
}

void schedule::end_lanes(int lanes) {
  const std::size_t before = rounds.size();
  begin_lane(0);
  end_round();
  if (rounds.size() > before) rounds.back().lanes = static_cast<std::uint32_t>(lanes);
}

void schedule::end_round(std::uint32_t in_flight) {
  const round before = rounds.empty() ? round{} : rounds.back();
  const round now{static_cast<std::uint32_t>(messages.size()),
                  static_cast<std::uint32_t>(copies.size()),
                  in_flight,
                  0,
                  std::exchange(awaits_, -1),
                  false,
                  std::exchange(joins_, false),
                  steps_++};
  if (now.messages_end != before.messages_end || now.copies_end != before.copies_end || now.awaits >= 0)
    rounds.push_back(now);
}

void schedule::arrive() {
  const std::size_t before = rounds.size();
  end_round();
  if (rounds.size() == before)
    rounds.push_back({.messages_end = static_cast<std::uint32_t>(messages.size()),
                      .copies_end = static_cast<std::uint32_t>(copies.size()),
                      .step = steps_ - 1});
  rounds.back().arrives = true;
  ++arrivals;
}

}  // namespace taquin::detail
