#include "algorithms/nodes/shared_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "datatypes/typed_copy.hpp"
#include "node/single_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using kind = node_line::kind;

constexpr std::size_t cache_line = 64;
constexpr std::size_t up_to_line(std::size_t bytes) noexcept {
  return (bytes + cache_line - 1) / cache_line * cache_line;
}

void put(const std::byte* from, const block& b, std::byte* to) {
  if (b.element.contiguous())
    std::memcpy(to, from, static_cast<std::size_t>(b.bytes()));
  else
    pack(from, b.count, b.element, to);
}

}  // namespace

shared_exchange::shared_exchange(const exchange& x, channel& c, std::size_t room) noexcept
    : x_(x), c_(c), room_(std::min(room, c.room_bytes()) / cache_line * cache_line) {}

std::byte* shared_exchange::send_at(const block& b) const noexcept {
  return static_cast<std::byte*>(x_.send.base) + b.offset;
}
std::byte* shared_exchange::recv_at(const block& b) const noexcept {
  return static_cast<std::byte*>(x_.recv.base) + b.offset;
}

bool shared_exchange::take_room(count_t bytes, std::size_t room, std::size_t& used) noexcept {
  const std::size_t taken = used + up_to_line(static_cast<std::size_t>(bytes));
  if (bytes > static_cast<count_t>(room) || taken > room) return false;
  used = taken;
  return true;
}

kind shared_exchange::way_of(const block& b, std::size_t& used) const noexcept {
  const count_t n = b.bytes();
  if (n <= static_cast<count_t>(node_line::capacity)) return n == 0 ? kind::none : kind::here;
  const bool readable = !x_.in_place && c_.single_copies() && b.element.contiguous();
  if ((n <= most_in_room || !readable) && take_room(n, room_, used)) return kind::room;
  return readable ? kind::remote : kind::pieces;
}

// Each reader's part of the room, where blocks come in pieces.
count_t shared_exchange::piece_bytes() const noexcept {
  return static_cast<count_t>(room_ / static_cast<std::size_t>(c_.size()) / cache_line * cache_line);
}

bool shared_exchange::possible() const {
  std::size_t used = 0;
  for (int k = first(); k < c_.size(); ++k) {
    const block b = x_.send[peer_at(k)];
    if (way_of(b, used) == kind::pieces && (x_.in_place || piece_bytes() == 0 || !in_ranges(b.element))) return false;
    if (x_.in_place) continue;
    const block r = x_.recv[peer_at(k)];
    if (!r.element.contiguous() && r.bytes() > static_cast<count_t>(node_line::capacity) && !in_ranges(r.element))
      return false;
  }
  return true;
}

void shared_exchange::write(int reader) {
  const block b = x_.send[reader];
  const auto n = static_cast<std::size_t>(b.bytes());
  node_line& line = c_.to(reader);
  const std::size_t at = room_used_;
  const kind way = way_of(b, room_used_);
  line.describe(way, n);
  switch (way) {
    case kind::here:
      put(send_at(b), b, line.data.data());
      break;
    case kind::room:
      line.place = at;
      put(send_at(b), b, c_.room(c_.rank()) + at);
      bytes_copied_ += n;
      break;
    case kind::remote:
      line.place = reinterpret_cast<std::uint64_t>(send_at(b));
      offered_ = c_.step();
      break;
    case kind::pieces: {
      const auto piece = static_cast<std::size_t>(piece_bytes());
      steps_ = std::max(steps_, static_cast<std::uint32_t>((n + piece - 1) / piece));
      break;
    }
    default:
      break;
  }
}

void shared_exchange::reset() noexcept {
  room_used_ = looked_at_ = 0;
  offered_ = bytes_copied_ = 0;
  steps_ = step_ = 0;
  next_ = 0;
  stage_ = stage::lines;
  error_class_ = 0;
}

void shared_exchange::post(std::uint32_t choices) {
  c_.begin();
  for (int k = first(); k < c_.size(); ++k) write(peer_at(k));
  for (int k = first(); k < c_.size(); ++k) {
    const int reader = peer_at(k);
    node_line& line = c_.to(reader);
    line.choices = choices;
    line.steps = steps_;
    c_.publish(reader);
  }
}

bool shared_exchange::agreed() const noexcept {
  const node_line& mine = c_.to(peer_at(1));
  for (int k = 1; k < c_.size(); ++k) {
    const node_line& line = c_.from(peer_at(k));
    if (line.what() == kind::record || line.choices != mine.choices) return false;
    if (x_.kind == exchange::form::alltoall && line.size() != mine.size()) return false;
  }
  return true;
}

bool shared_exchange::lines_have_come() {
  for (; next_ < c_.size(); ++next_)
    if (next_ > 0 && !c_.has_come(peer_at(next_))) return false;
  next_ = 0;
  return true;
}

bool shared_exchange::advance() {
  while (true) switch (stage_) {
      case stage::lines:
        if (!lines_have_come()) return false;
        deliver();
        stage_ = steps_ > 0 ? stage::pieces : stage::fetching;
        if (steps_ > 0) post_pieces();
        break;
      case stage::pieces:
        if (!lines_have_come()) return false;
        take_pieces();
        if (++step_ < steps_)
          post_pieces();
        else
          stage_ = stage::fetching;
        break;
      case stage::fetching:
        if (offered_ > 0)
          for (next_ = std::max(next_, 1); next_ < c_.size(); ++next_) {
            std::size_t used = looked_at_;
            const bool offered = way_of(x_.send[peer_at(next_)], used) == kind::remote;
            if (offered && !c_.has_fetched(peer_at(next_), offered_)) return false;
            looked_at_ = used;
          }
        stage_ = stage::done;
        return true;
      case stage::done:
        return true;
    }
}

void shared_exchange::finish() {
  c_.wait([this] { return advance(); });
}

void shared_exchange::deliver() {
  bool offered = false;
  try {
    for (int k = 1; k < c_.size(); ++k) {
      const node_line& line = c_.from(peer_at(k));
      steps_ = std::max(steps_, line.steps);
      offered = offered || line.what() == kind::remote;
      deliver_from(peer_at(k));
    }
    deliver_own();
  } catch (const error& e) {  // the others must not wait for this rank
    fail(-1, e.mpi_class(), e.what());
  }
  if (offered) c_.fetched();
}

void shared_exchange::deliver_own() {
  if (x_.in_place) return deliver_from(c_.rank());
  const block from = x_.send[c_.rank()];
  const block to = x_.recv[c_.rank()];
  const count_t sent = from.bytes();
  const count_t n = std::min(sent, to.bytes());
  if (sent > n)
    fail(c_.rank(), MPI_ERR_TRUNCATE,
         fmt::format("rank {} sends {} bytes to itself and expects {} bytes", c_.rank(), sent, n));
  if (n == 0) return;
  typed_copy(send_at(from), sent > n ? n / from.element.size : from.count, from.element, recv_at(to), to.count,
             to.element);
  bytes_copied_ += static_cast<std::uint64_t>(n);
}

void shared_exchange::deliver_from(int writer) {
  const node_line& line = writer == c_.rank() ? c_.to(writer) : c_.from(writer);
  const block b = x_.recv[writer];
  const auto sent = static_cast<count_t>(line.size());
  const count_t n = std::min(sent, b.bytes());
  if (sent > n)
    fail(writer, MPI_ERR_TRUNCATE,
         fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes", writer, sent, c_.rank(), n));
  if (n == 0) return;
  const std::byte* from = nullptr;
  switch (line.what()) {
    case kind::here:
      from = line.data.data();
      break;
    case kind::room:
      from = c_.room(writer) + line.place;
      break;
    case kind::remote:
      return fetch(writer, b, recv_at(b), line.place, n);
    default:
      return;
  }
  bytes_copied_ += static_cast<std::uint64_t>(n);
  if (b.element.contiguous())
    std::memcpy(recv_at(b), from, static_cast<std::size_t>(n));
  else if (n == b.bytes())
    unpack(from, recv_at(b), b.count, b.element);
  else
    unpack_range(from, recv_at(b), b.count, b.element, 0, n);
}

void shared_exchange::fetch(int writer, const block& b, std::byte* to, std::uint64_t address, count_t bytes) {
  int code = 0;
  if (b.element.contiguous()) {
    code = single_copy(c_.process(writer), address, to, static_cast<std::size_t>(bytes));
  } else {
    alignas(cache_line) std::array<std::byte, 16384> part;
    for (count_t done = 0; done < bytes && code == 0;) {
      const count_t n = std::min(bytes - done, static_cast<count_t>(part.size()));
      code = single_copy(c_.process(writer), address + static_cast<std::uint64_t>(done), part.data(),
                         static_cast<std::size_t>(n));
      if (code == 0) unpack_range(part.data(), to, b.count, b.element, done, n);
      done += n;
    }
  }
  if (code != 0)
    fail(writer, MPI_ERR_BUFFER,
         fmt::format("{} bytes of rank {} cannot be read by rank {}: {}", bytes, writer, c_.rank(),
                     std::strerror(code)));
}

// The next piece of every block that comes in pieces; all ranks go through as many steps as the longest needs.
void shared_exchange::post_pieces() {
  c_.begin();
  const count_t piece = piece_bytes();
  const count_t begin = static_cast<count_t>(step_) * piece;
  std::size_t used = 0;
  for (int k = 1; k < c_.size(); ++k) {
    const block b = x_.send[peer_at(k)];
    const bool in_pieces = way_of(b, used) == kind::pieces;
    const count_t n = in_pieces ? std::clamp<count_t>(b.bytes() - begin, 0, piece) : 0;
    node_line& line = c_.to(peer_at(k));
    line.describe(n > 0 ? kind::room : kind::none, static_cast<std::uint64_t>(n));
    line.place = static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(piece);
    std::memcpy(line.data.data(), &begin, sizeof begin);
    if (n > 0) pack_range(send_at(b), b.count, b.element, begin, n, c_.room(c_.rank()) + line.place);
    bytes_copied_ += static_cast<std::uint64_t>(n);
    c_.publish(peer_at(k));
  }
}

void shared_exchange::take_pieces() {
  for (int k = 1; k < c_.size(); ++k) {
    const int writer = peer_at(k);
    const node_line& line = c_.from(writer);
    if (line.what() != kind::room) continue;
    const block b = x_.recv[writer];
    count_t begin = 0;
    std::memcpy(&begin, line.data.data(), sizeof begin);
    const count_t n = std::clamp<count_t>(b.bytes() - begin, 0, static_cast<count_t>(line.size()));
    unpack_range(c_.room(writer) + line.place, recv_at(b), b.count, b.element, begin, n);
    bytes_copied_ += static_cast<std::uint64_t>(n);
  }
}

void shared_exchange::fail(int peer, int mpi_class, std::string what) noexcept {
  if (error_class_ != 0) return;
  error_ = std::move(what);
  error_class_ = mpi_class;
  error_peer_ = peer;
}

void shared_exchange::check() const {
  if (error_class_ != 0) throw usage_error(error_, error_class_, c_.rank(), error_peer_);
}

void shared_exchange::account(statistics& s) const {
  s.rounds += 1 + steps_;
  for (int peer = 0; peer < c_.size(); ++peer) {
    const count_t n = peer == c_.rank() ? 0 : x_.send[peer].bytes();
    s.messages += n > 0 ? 1U : 0U;
    s.bytes_sent += static_cast<std::uint64_t>(n);
  }
  s.bytes_copied += bytes_copied_;
}

}  // namespace taquin::detail
