#include "algorithms/in_place/in_place_protocol.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// A part of a message, and the length of all of it, in units.
struct request {
  count_t offset = 0;
  count_t length = 0;
  count_t expected = 0;
};
using request_words = std::array<word, sizeof(request) / sizeof(word)>;

}  // namespace

port_limits in_place_protocol::limits(const in_place_limits& l, double idle_threshold) noexcept {
  const auto requests = static_cast<std::uint32_t>(l.requests);
  return {.scattered = static_cast<std::uint32_t>(l.columns),
          .words = std::tuple_size_v<request_words>,
          .messages = requests,
          .transfers = requests + static_cast<std::uint32_t>(l.sends),
          .reserved = requests,
          .idle_threshold = idle_threshold};
}

task in_place_protocol::run() {
  started = false;
  pending.reset();
  moving.reset();
  if (net.fetches()) {
    offer_all();
    co_await net.open();
  }
  machine.reset([this](int peer) { return peer == rank ? 0 : net.swappable(peer); });
  started = true;
  if (net.fetches()) {
    // Peer by peer, as long as there are data whose swap neither rank has started: data that this rank does not swap
    // are swapped by the peer. Each rank begins with its next, so that not all begin with the same.
    const unit_run space{units.border(), std::min(machine.limits().aux, machine.limits().swap_chunk)};
    const auto next = std::ranges::upper_bound(out, rank, {}, &peer_block::peer) - out.begin();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int peer = out[(as_size(next) + i) % out.size()].peer;
      while (peer != rank && net.swap_some(peer, space) > 0) co_await net.suspend_test();
    }
  }
  std::uint64_t rested = units.bytes_copied();
  for (bool quiet = false;;) {
    for (auto s = machine.next(quiet); s.request || s.move; s = machine.next(quiet && s.move)) {
      if (s.request) post_request(*s.request);
      if (!s.move) continue;
      if (s.move->peer >= 0 && net.fetches()) {
        pending = s.move;
        co_await net.withdraw(s.move->peer);
        pending.reset();
      }
      moving = s.move;
      for (bool all = false; !all;) {
        all = units.move_some(*moving, machine.limits().bytes_per_test);
        if (units.bytes_copied() - rested < machine.limits().bytes_per_test) continue;
        co_await net.suspend_test();
        rested = units.bytes_copied();
      }
      moving.reset();
      net.moved({s.move->from, s.move->length}, s.move->to);
    }
    if (machine.done()) break;
    do {
      const event e = co_await net.next();
      quiet = e.what == event::kind::quiet;
      take(e);
    } while (net.more());
  }
  for (const peer_block& b : out)
    if (b.peer != rank && net.swappable(b.peer) > 0) co_await net.swapped(b.peer);
}

void in_place_protocol::offer_all() {
  for (const peer_block& b : out) {
    if (b.peer == rank) continue;
    const auto there = std::ranges::lower_bound(in, b.at, {}, &peer_block::at);
    const bool theirs = there != in.end() && there->at == b.at && there->peer == b.peer;
    net.offer(b.peer, {b.at, b.length}, theirs ? there->length : 0);
  }
}

void in_place_protocol::post_request(const in_place_request& r) {
  const auto id = static_cast<std::uint32_t>(r.slot);
  const unit_run into{r.to, r.length};
  if (net.fetches() && net.fetch(r.peer, r.offset, r.expected, into, id)) return;
  net.receive(r.peer, into, id);
  net.post(r.peer, std::bit_cast<request_words>(request{r.offset, r.length, r.expected}));
}

// If the two ranks' counts differ the peer sees it by an empty answer.
void in_place_protocol::answer(const event& e) {
  request_words words{};
  std::ranges::copy(e.words.first(std::min(e.words.size(), words.size())), words.begin());
  const auto requested = std::bit_cast<request>(words);
  const auto block = std::ranges::lower_bound(out, e.peer, {}, &peer_block::peer);
  const count_t has = block != out.end() && block->peer == e.peer ? block->length : 0;
  const in_place_answer a =
      has == requested.expected ? machine.requested(e.peer, requested.offset, requested.length) : in_place_answer{};
  if (a.length > 0) {
    net.send(e.peer, unit_run{a.at, a.length}, static_cast<std::uint32_t>(a.slot));
    return;
  }
  net.refuse(e.peer);
  throw usage_error(
      fmt::format("rank {} has {} units for rank {}, which expects {}", rank, has, e.peer, requested.expected),
      MPI_ERR_TRUNCATE, rank, e.peer);
}

void in_place_protocol::take(const event& e) {
  switch (e.what) {
    case event::kind::message:
      return answer(e);
    case event::kind::sent:
      return machine.sent(static_cast<int>(e.id));
    case event::kind::arrived:
      if (e.units.length == 0)
        throw usage_error(fmt::format("rank {} does not send rank {} what that expects", e.peer, rank),
                          MPI_ERR_TRUNCATE, e.peer, rank);
      return machine.arrived(static_cast<int>(e.id), e.units.length);
    case event::kind::fetched:
      if (!machine.fetched(e.peer, e.units.at, e.units.length))
        throw usage_error(fmt::format("rank {} expects more data from rank {} than that sends", e.peer, rank),
                          MPI_ERR_OTHER, e.peer, rank);
      return;
    case event::kind::taken:
    case event::kind::quiet:
      return;
  }
}

}  // namespace taquin::detail
