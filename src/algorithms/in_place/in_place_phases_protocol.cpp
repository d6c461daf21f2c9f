#include "algorithms/in_place/in_place_phases_protocol.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

in_place_phases_protocol::in_place_phases_protocol(int rank, int ranks, requests how, std::span<const peer_block> out,
                                                   std::span<const peer_block> in, in_place_phases_machine& machine,
                                                   store& units, port& net, std::pmr::memory_resource* frame,
                                                   std::pmr::memory_resource* bookkeeping)
    : memory(frame),
      rank_(rank),
      how_(how),
      out_(out),
      in_(in),
      machine_(machine),
      units_(units),
      net_(net),
      requested_(bookkeeping),
      granted_(bookkeeping),
      runs_(bookkeeping) {
  static_assert(sizeof(request) == request_words * sizeof(word));
  array_list::take(*this, ranks, out.size(), in.size(), how);
}

port_limits in_place_phases_protocol::limits(std::size_t out, std::size_t in, requests how) noexcept {
  constexpr std::size_t refusals = 2;
  return {.scattered = static_cast<std::uint32_t>(phase_limits::segments(out, in)),
          .words = request_words,
          .messages = static_cast<std::uint32_t>((how == requests::sparse ? in : 0) + refusals),
          .transfers = static_cast<std::uint32_t>(2 * (in + out)),
          .reserved = static_cast<std::uint32_t>(2 * in)};
}

std::size_t in_place_phases_protocol::bytes(int ranks, std::size_t out, std::size_t in, requests how) noexcept {
  return array_list::bytes<in_place_phases_protocol>(ranks, out, in, how);
}

std::size_t in_place_phases_protocol::place(std::size_t block, const peer_block& b) const noexcept {
  return how_ == requests::sparse ? block : as_size(b.peer);
}

void in_place_phases_protocol::set(std::size_t i, const request& r) {
  std::memcpy(requested_.data() + i * request_words, &r, sizeof r);
}

in_place_phases_protocol::request in_place_phases_protocol::granted(std::size_t i) const {
  std::array<std::int64_t, sizeof(request) / sizeof(std::int64_t)> r{};
  std::memcpy(r.data(), granted_.data() + i * request_words, sizeof r);
  return {r[0], r[1], r[2], r[3]};
}

void in_place_phases_protocol::clock(double& part) {
  const double now = net_.now();
  part += now - since_;
  since_ = now;
}

// Dense: to and from all ranks, which also publishes which ranks have work left; when none has, all end together.
// Sparse: a message to and from each peer with remaining data, and each rank ends by itself.
//
// Receives are posted before the grants are sent, so data never wait at a slow rank. A rank without a request to a peer
// in this phase needs nothing from it; it waits until the peer has received its message, so that at most one of them
// waits there.
task in_place_phases_protocol::run() {
  machine_.reset();
  started_ = true;
  moving_.reset();
  last_ = {};
  since_ = net_.now();
  for (;;) {
    const bool done = machine_.done();
    if (done && how_ == requests::sparse) co_return;
    if (!done) ++last_.rounds;
    machine_.determine();
    int pending = receive() + post_requests(done);
    if (how_ == requests::dense) co_await net_.alltoall(requested_, granted_, request_words);
    for (std::size_t k = 0; how_ == requests::sparse && k < out_.size(); ++k) {
      const auto mine = std::span(granted_).subspan(k * request_words, request_words);
      std::ranges::fill(mine, word{0});
      if (machine_.unsent(k) == 0) continue;
      const event e = co_await net_.message(out_[k].peer);
      std::ranges::copy(e.words.first(std::min(e.words.size(), mine.size())), mine.begin());
    }
    clock(last_.in_place_phases.requests);
    bool work_left = how_ == requests::sparse;
    for (std::size_t r = 0; !work_left && r < granted_.size() / request_words; ++r)
      work_left = granted(r).work_left != 0;
    if (!work_left) co_return;
    compare_counts();
    for (pending += send(); pending > 0; --pending) {
      const event e = co_await net_.next_transfer();
      // A message is as long as requested, or empty if the sender has found that the counts differ.
      if (e.what == event::kind::arrived && e.units.length == 0)
        throw usage_error(fmt::format("rank {} does not send rank {} what that expects", e.peer, rank_),
                          MPI_ERR_TRUNCATE, e.peer, rank_);
      if (e.what == event::kind::arrived) machine_.arrived(e.id / 2, e.id % 2 == 1);
    }
    clock(last_.in_place_phases.data);
    machine_.begin_update();
    auto m = machine_.next_move();
    moving_ = m;
    while (true) {
      if (m && units_.move_some(*moving_, machine_.limits().bytes_per_test)) {
        moving_.reset();
        net_.moved({m->from, m->length}, m->to);
        m = machine_.next_move();
        moving_ = m;
        continue;
      }
      // After the moves as well: with sparse requests a rank without peers has nothing else to wait for.
      co_await net_.suspend_test();
      if (!m) break;
    }
    clock(last_.in_place_phases.update);
  }
}

// Returns how many requests need an event that reports their receipt.
int in_place_phases_protocol::post_requests(bool done) {
  const auto wanted = machine_.requests();
  const std::int64_t work_left = done ? 0 : 1;
  int known = 0;
  if (how_ == requests::dense)
    for (std::size_t r = 0; r < requested_.size() / request_words; ++r) set(r, {.work_left = work_left});
  for (std::size_t k = 0; k < in_.size(); ++k) {
    const request r{wanted[k].direct, wanted[k].aux, machine_.expected(k), work_left};
    if (how_ == requests::dense) {
      set(as_size(in_[k].peer), r);
    } else if (r.expected > 0) {
      set(0, r);
      const bool for_nothing = r.direct == 0 && r.aux == 0;
      for_nothing ? net_.post_known(in_[k].peer, requested_) : net_.post(in_[k].peer, requested_);
      known += for_nothing ? 1 : 0;
    }
  }
  return known;
}

// Dense requests also arrive from ranks that this one has nothing for.
void in_place_phases_protocol::compare_counts() {
  for (std::size_t k = 0; k < out_.size(); ++k)
    if (const request r = granted_to(k); r.expected != machine_.unsent(k))
      refuse(out_[k].peer, machine_.unsent(k), r.expected);
  if (how_ == requests::sparse) return;
  std::size_t k = 0;
  for (std::size_t peer = 0; peer < granted_.size() / request_words; ++peer) {
    if (k < out_.size() && out_[k].peer == static_cast<int>(peer)) {
      ++k;
    } else if (const request r = granted(peer); r.expected > 0) {
      refuse(static_cast<int>(peer), 0, r.expected);
    }
  }
}

// The two ranks' counts differ. The peer sees it by empty transfers, in this phase or the next in which it sends a
// request.
void in_place_phases_protocol::refuse(int peer, count_t unsent, count_t expected) {
  net_.refuse(peer);
  net_.refuse(peer);
  throw usage_error(fmt::format("rank {} has {} units for rank {}, which expects {}", rank_, unsent, peer, expected),
                    MPI_ERR_TRUNCATE, rank_, peer);
}

// Posts the receives of this phase; returns how many transfers they are.
int in_place_phases_protocol::receive() {
  int transfers = 0;
  const auto wanted = machine_.requests();
  const auto post = [&](std::size_t k, const unit_run& into, std::uint32_t which) {
    if (into.length == 0) return;
    net_.receive(in_[k].peer, into, 2 * static_cast<std::uint32_t>(k) + which);
    ++transfers;
  };
  for (std::size_t k = 0; k < in_.size(); ++k) {
    post(k, {wanted[k].at, wanted[k].direct}, 0);
    post(k, {wanted[k].aux_at, wanted[k].aux}, 1);
  }
  net_.post_now();
  return transfers;
}

// Posts the sends that others have granted; returns how many transfers they are.
int in_place_phases_protocol::send() {
  int transfers = 0;
  for (std::size_t k = 0; k < out_.size(); ++k) {
    const request r = granted_to(k);
    for (const count_t length : {r.direct, r.aux}) {
      if (length == 0) continue;
      send(k, length);
      ++transfers;
    }
  }
  return transfers;
}

// One transfer of all the runs that the data lie in.
void in_place_phases_protocol::send(std::size_t k, count_t length) {
  runs_.clear();
  machine_.send(k, length, [&](count_t at, count_t n) { runs_.push_back({at, n}); });
  net_.send(out_[k].peer, runs_, 0);
}

}  // namespace taquin::detail
