// How the memory of slots is laid out, and how a rank joins.
#include <algorithm>
#include <utility>

#include "base/sizes.hpp"
#include "interpose/neighbourhood/neighbourhood.hpp"

namespace taquin::interpose {

namespace {

constexpr std::size_t least_page = 4096;

std::size_t list_bytes(std::size_t widest) noexcept { return detail::up_to_line((widest + 1) * sizeof(int)); }

}  // namespace

bool has_no_rank_twice(std::span<const int> ranks) noexcept {
  for (auto at = ranks.begin(); at != ranks.end(); ++at)
    if (*at >= 0 && std::find(at + 1, ranks.end(), *at) != ranks.end()) return false;
  return true;
}

std::size_t neighbourhood::most_bytes(int ranks, std::size_t user_bytes) noexcept {
  std::size_t most = 0;
  for (std::size_t widest = 0; widest <= detail::as_size(ranks); ++widest)
    most = std::max(most, bytes(widest, user_bytes));
  return most;
}

std::size_t neighbourhood::bytes(std::size_t widest, std::size_t user_bytes) noexcept {
  return detail::up_to_line(user_bytes) + list_bytes(widest) + widest * edge_bytes(most_in_slot(widest));
}

int* neighbourhood::destinations_of(int nth) const noexcept {
  return reinterpret_cast<int*>(part_of(nth) + user_bytes_);
}

std::byte* neighbourhood::edge_of(int nth, std::size_t destination) const noexcept {
  return part_of(nth) + user_bytes_ + list_bytes(widest_) + destination * edge_bytes(most_in_slot_);
}

std::byte* neighbourhood::user_area(int nth) const noexcept { return part_of(nth); }

// −1: it is on another node, or there is none.
int neighbourhood::number_here(int rank) const noexcept {
  const auto at = std::ranges::lower_bound(here_, rank);
  return at != here_.end() && *at == rank ? static_cast<int>(at - here_.begin()) : -1;
}

std::shared_ptr<neighbourhood> neighbourhood::make(member m, detail::mapping memory) {
  std::shared_ptr<neighbourhood> made(new neighbourhood);
  neighbourhood& n = *made;
  n.memory_ = std::move(memory);
  n.comm_ = std::move(m.messages);
  n.most_in_slot_ = most_in_slot(m.widest);
  n.part_ = bytes(m.widest, m.user_bytes);
  n.user_bytes_ = detail::up_to_line(m.user_bytes);
  n.widest_ = m.widest;
  n.here_.assign(m.here.begin(), m.here.end());
  n.mine_ = n.number_here(m.rank);
  n.whole_ = m.whole;
  n.tag_ = m.tags[detail::as_size(m.rank)];
  const auto place = [&](int peer) { return peer < 0 ? MPI_PROC_NULL : m.places[detail::as_size(peer)]; };
  for (const int peer : m.edges.sources) n.in_.push_back({.peer = peer, .at = place(peer), .tag = n.tag_});
  std::vector<int> here;
  for (const int peer : m.edges.destinations) {
    const int number = n.number_here(peer);
    n.out_.push_back({.peer = peer,
                      .memory = number < 0 ? nullptr : n.edge_of(n.mine_, here.size()),
                      .at = place(peer),
                      .tag = peer < 0 ? 0 : m.tags[detail::as_size(peer)]});
    if (number >= 0) here.push_back(number);
  }
  n.arrived_.resize(n.in_.size());
  if (!n.take_pages()) return nullptr;
  *std::ranges::copy(here, n.destinations_of(n.mine_)).out = -1;
  return made;
}

// Of this rank's part all, or the notes, the list, the heads of the edges, and some bytes of each slot.
bool neighbourhood::take_pages() {
  const std::size_t first = whole_ ? most_in_slot_ : std::min<std::size_t>(256, most_in_slot_);
  std::byte* const mine = part_of(mine_);
  if (!detail::mapping::take(mine, whole_ ? part_ : static_cast<std::size_t>(edge_of(mine_, 0) - mine))) return false;
  for (edge& e : out_) {
    e.taken.fill(first);
    if (e.memory == nullptr || whole_) continue;
    if (!detail::mapping::take(e.memory, sizeof(edge_head))) return false;
    for (std::uint64_t call = 0; call < slots; ++call)
      if (!detail::mapping::take(reinterpret_cast<std::byte*>(&slot_of(e, call)), sizeof(slot) + first)) return false;
  }
  return true;
}

bool neighbourhood::all_have_arrived() noexcept {
  bool known = true;
  for (edge& e : in_) {
    const int source = number_here(e.peer);
    if (source < 0) continue;
    const int* const begin = destinations_of(source);
    const int* at = begin;
    while (*at != mine_ && *at != -1) ++at;
    known = known && *at != -1;
    if (*at == -1) continue;
    e.memory = edge_of(source, detail::as_size(at - begin));
    for (std::size_t k = 0; whole_ && k < edge_bytes(most_in_slot_); k += least_page)  // maps the pages
      static_cast<void>(*static_cast<const volatile std::byte*>(e.memory + k));
  }
  return known;
}

}  // namespace taquin::interpose
