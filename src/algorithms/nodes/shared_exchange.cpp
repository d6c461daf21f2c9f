#include "algorithms/nodes/shared_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/validate.hpp"
#include "node/shared_buffers.hpp"
#include "node/single_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using kind = mailbox::kind;

// A call of memcpy would cost more than so few bytes.
void copy_few(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  const auto two = [&](auto first) {
    auto last = first;
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, from + n - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + n - sizeof last, &last, sizeof last);
  };
  if (n >= 16) return two(std::array<std::uint64_t, 2>{});
  if (n >= 8) return two(std::uint64_t{});
  if (n >= 4) return two(std::uint32_t{});
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
}
static_assert(mailbox::capacity <= 32 && sizeof(buffer_place) <= mailbox::capacity);

void copy_any(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  if (n <= mailbox::capacity)
    copy_few(to, from, n);
  else
    copy_bytes(to, from, n);
}

}  // namespace

shared_exchange::shared_exchange(const exchange& x, channel& c, std::size_t payload, count_t most, bool offers) noexcept
    : x_(x),
      c_(c),
      payload_bytes_(std::min(payload, c.payload_bytes()) / cache_line * cache_line),
      most_in_payload_(most),
      offers_(offers) {}

bool shared_exchange::take_payload(count_t bytes, std::size_t payload, std::size_t& used) noexcept {
  const std::size_t taken = used + up_to_line(as_size(bytes));
  if (bytes > static_cast<count_t>(payload) || taken > payload) return false;
  used = taken;
  return true;
}

kind shared_exchange::path_of(int reader, std::size_t& used) const noexcept {
  const count_t n = sent(reader);
  if (n <= static_cast<count_t>(mailbox::capacity)) return n == 0 ? kind::none : kind::here;
  const bool readable =
      !x_.in_place && x_.send.element_of(reader).contiguous() &&
      (c_.single_copies() || find_shared(send_at(reader), as_size(n)).value_or(buffer_place{}).for_all());
  const bool small = n <= most_in_payload_ || !readable;
  if ((small || offers_) && take_payload(n, payload_bytes_, used)) return small ? kind::payload : kind::offered;
  return readable ? kind::remote : kind::chunks;
}

// Each reader's part of the payload area, if blocks are sent in chunks.
count_t shared_exchange::chunk_bytes() const noexcept {
  return static_cast<count_t>(payload_bytes_ / as_size(c_.size()) / cache_line * cache_line);
}

bool shared_exchange::possible_block_by_block() const {
  std::size_t used = 0;
  for (int k = first(); k < c_.size(); ++k) {
    const int peer = peer_at(k);
    if (path_of(peer, used) == kind::chunks &&
        (x_.in_place || chunk_bytes() == 0 || !in_ranges(x_.send.element_of(peer))))
      return false;
    if (x_.in_place) continue;
    const element& e = x_.recv.element_of(peer);
    if (!e.contiguous() && expected(peer) > static_cast<count_t>(mailbox::capacity) && !in_ranges(e)) return false;
  }
  return true;
}

bool shared_exchange::possible_for(std::span<const count_t> sent, bool one_buffer, bool single_copies,
                                   std::size_t payload) noexcept {
  payload = payload / cache_line * cache_line;
  if (!one_buffer && (single_copies || payload / sent.size() >= cache_line)) return true;
  std::size_t used = 0;
  return std::ranges::all_of(sent.subspan(one_buffer ? 0 : 1), [&](count_t n) {
    return n <= static_cast<count_t>(mailbox::capacity) || take_payload(n, payload, used);
  });
}

void shared_exchange::write(int reader) {
  const element& e = x_.send.element_of(reader);
  const auto n = as_size(sent(reader));
  const auto put = [&](std::byte* to) {
    if (e.contiguous())
      copy_any(to, send_at(reader), n);
    else
      pack(send_at(reader), x_.send.counts[reader], e, to);
  };
  mailbox& box = c_.to(reader);
  const std::size_t at = payload_used_;
  const kind path = path_of(reader, payload_used_);
  box.describe(path, n);
  switch (path) {
    case kind::here:
      put(box.data.data());
      break;
    case kind::payload:
      box.place = at;
      put(c_.payload(c_.rank()) + at);
      bytes_copied_ += n;
      break;
    case kind::remote:
    case kind::offered: {
      box.place = reinterpret_cast<std::uint64_t>(send_at(reader));
      auto shared = find_shared(send_at(reader), n);
      if (shared && c_.single_copies() && !worth_mapping(*shared, c_.size() - 1)) shared.reset();
      if (shared && path == kind::remote) box.describe(kind::mapped, n);
      const buffer_place where = shared.value_or(buffer_place{});
      std::memcpy(box.data.data(), &where, sizeof where);
      offered_ = c_.step();
      break;
    }
    case kind::chunks: {
      const auto chunk = as_size(chunk_bytes());
      steps_ = std::max(steps_, static_cast<std::uint32_t>((n + chunk - 1) / chunk));
      break;
    }
    default:
      break;
  }
}

void shared_exchange::reset() noexcept {
  payload_used_ = polled_rank_ = 0;
  offered_ = bytes_copied_ = 0;
  steps_ = step_ = 0;
  next_ = polls_ = 0;
  any_moves_ = unread_ = offered_here_ = false;
  requested_.reset();
  stage_ = stage::mailboxes;
  error_.reset();
}

void shared_exchange::post(std::uint32_t choices) {
  c_.begin();
  for (int k = first(); k < c_.size(); ++k) write(peer_at(k));
  for (int k = first(); k < c_.size(); ++k) {
    const int reader = peer_at(k);
    mailbox& box = c_.to(reader);
    box.choices = choices;
    box.steps = steps_;
    c_.publish(reader);
  }
}

bool shared_exchange::agreed() const noexcept {
  const mailbox& mine = c_.to(peer_at(1));
  for (int k = 1; k < c_.size(); ++k) {
    const mailbox& box = c_.from(peer_at(k));
    if (box.what() == kind::record || box.choices != mine.choices) return false;
    if (x_.kind == exchange::form::alltoall && box.size() != mine.size()) return false;
  }
  return true;
}

bool shared_exchange::mailboxes_have_arrived() {
  for (; next_ < c_.size(); ++next_)
    if (next_ > 0 && !c_.has_arrived(peer_at(next_))) return false;
  next_ = 0;
  return true;
}

bool shared_exchange::advance() {
  if (stage_ != stage::mailboxes) c_.give_what_is_requested();
  while (true) switch (stage_) {
      case stage::mailboxes:
        if (!mailboxes_have_arrived()) return false;
        read_mailboxes();
        break;
      case stage::requesting:
        if (!deliver_what_is_requested()) return false;
        continue_after_mailboxes();
        break;
      case stage::chunks:
        if (!mailboxes_have_arrived()) return false;
        take_chunks();
        if (++step_ < steps_)
          post_chunks();
        else
          stage_ = stage::fetching;
        break;
      case stage::moved:
        if (!take_what_was_moved()) return false;
        stage_ = stage::fetching;
        break;
      case stage::fetching:
        if (offered_ > 0 && !all_have_taken()) return false;
        stage_ = stage::done;
        return true;
      case stage::done:
        return true;
    }
}

void shared_exchange::read_mailboxes() {
  deliver();
  if (!unread_) return continue_after_mailboxes();
  stage_ = stage::requesting;
  next_ = 1;
}

void shared_exchange::continue_after_mailboxes() {
  if (offered_here_) c_.fetched();
  stage_ = steps_ > 0 ? stage::chunks : any_moves_ ? stage::moved : stage::fetching;
  if (steps_ > 0) post_chunks();
}

void shared_exchange::finish_after_mailboxes() {
  read_mailboxes();
  if (steps_ > 0 || offered_ > 0 || unread_) finish();
}

void shared_exchange::finish() {
  c_.wait([this] { return advance(); });
}

void shared_exchange::deliver() {
  if (offers_) c_.polls_offers();
  for (int k = 1; k < c_.size(); ++k) {
    const mailbox& box = c_.from(peer_at(k));
    steps_ = std::max(steps_, box.steps);
    offered_here_ = offered_here_ || box.what() == kind::remote || box.what() == kind::mapped;
    if (offers_)
      take_offer(peer_at(k));
    else
      deliver_or_fail(peer_at(k));
  }
  deliver_or_fail(c_.rank());
}

// Also after an error, so that the others do not wait for this rank.
void shared_exchange::deliver_or_fail(int writer) {
  try {
    writer == c_.rank() ? deliver_own() : deliver_from(writer);
  } catch (const error& e) {
    fail({e.what(), e.mpi_class()});
  } catch (const std::bad_alloc&) {
    fail(out_of_memory());
  }
}

void shared_exchange::deliver_own() {
  const int own = c_.rank();
  if (x_.in_place) return deliver_from(own);
  const element& from = x_.send.element_of(own);
  const element& to = x_.recv.element_of(own);
  const count_t bytes = sent(own);
  const count_t n = std::min(bytes, expected(own));
  if (bytes != expected(own)) fail(mismatch(own, bytes, own, expected(own)));
  if (n == 0) return;
  if (from.contiguous() && to.contiguous())
    copy_any(recv_at(own), send_at(own), as_size(n));
  else
    typed_copy(send_at(own), bytes > n ? n / from.size : x_.send.counts[own], from, recv_at(own), x_.recv.counts[own],
               to);
  bytes_copied_ += static_cast<std::uint64_t>(n);
}

void shared_exchange::deliver_from(int writer) {
  const mailbox& box = writer == c_.rank() ? c_.to(writer) : c_.from(writer);
  const auto bytes = static_cast<count_t>(box.size());
  const count_t most = expected(writer);
  const count_t n = std::min(bytes, most);
  if (bytes != most) fail(mismatch(writer, bytes, c_.rank(), most));
  if (n == 0) return;
  switch (box.what()) {
    case kind::here:
      return deliver_bytes(writer, box.data.data(), n);
    case kind::payload:
    case kind::moved:
      return deliver_bytes(writer, c_.payload(writer) + box.place, n);
    case kind::mapped:
    case kind::claimed:
      return deliver_shared(writer, box, n);
    case kind::remote:
      return fetch(writer, box.place, n);
    default:
      return;
  }
}

void shared_exchange::deliver_shared(int writer, const mailbox& box, count_t n) {
  buffer_place shared;
  std::memcpy(&shared, box.data.data(), sizeof shared);
  const std::byte* const from = shared.known() ? view_shared(shared, as_size(n)) : nullptr;
  from != nullptr ? deliver_bytes(writer, from, n) : fetch(writer, box.place, n);
}

void shared_exchange::deliver_bytes(int writer, const std::byte* from, count_t n) {
  bytes_copied_ += static_cast<std::uint64_t>(n);
  const element& e = x_.recv.element_of(writer);
  if (e.contiguous())
    copy_any(recv_at(writer), from, as_size(n));
  else
    unpack_first(from, n, recv_at(writer), x_.recv.counts[writer], e);
}

void shared_exchange::fetch(int writer, std::uint64_t address, count_t bytes) {
  const element& e = x_.recv.element_of(writer);
  std::byte* const to = recv_at(writer);
  int code = 0;
  if (e.contiguous()) {
    code = single_copy(c_.process(writer), address, to, as_size(bytes));
  } else {
    alignas(cache_line) std::array<std::byte, 16384> part;
    for (count_t done = 0; done < bytes && code == 0;) {
      const count_t n = std::min(bytes - done, static_cast<count_t>(part.size()));
      code = single_copy(c_.process(writer), address + static_cast<std::uint64_t>(done), part.data(), as_size(n));
      if (code == 0) unpack_range(part.data(), to, x_.recv.counts[writer], e, done, n);
      done += n;
    }
  }
  if (is_refusal(code) && requested_copy::part_bytes(c_) > 0) {
    c_.from(writer).become(kind::unread);
    unread_ = true;
  } else if (code != 0) {
    fail({fmt::format("rank {} cannot read {} bytes of rank {}: {}", c_.rank(), bytes, writer, std::strerror(code)),
          MPI_ERR_BUFFER, writer});
  }
}

// Blocks that this rank may not read, one sender after the other. True when all are here.
bool shared_exchange::deliver_what_is_requested() {
  for (; next_ < c_.size(); ++next_) {
    const int writer = peer_at(next_);
    mailbox& box = c_.from(writer);
    if (!requested_ && box.what() != kind::unread) continue;
    const count_t bytes = std::min(static_cast<count_t>(box.size()), expected(writer));
    if (!requested_) requested_.emplace(c_, writer, box.place, as_size(bytes));
    while (true) {
      const std::span<const std::byte> part = requested_->next();
      if (part.empty()) break;
      deliver_requested(writer, static_cast<count_t>(requested_->offset()), part);
    }
    if (!requested_->done()) return false;
    requested_.reset();
    box.become(kind::taken);
  }
  next_ = 0;
  return true;
}

void shared_exchange::deliver_requested(int writer, count_t begin, std::span<const std::byte> part) {
  const element& e = x_.recv.element_of(writer);
  bytes_copied_ += part.size();
  if (e.contiguous()) return copy_bytes(recv_at(writer) + begin, part.data(), part.size());
  unpack_range(part.data(), recv_at(writer), x_.recv.counts[writer], e, begin, static_cast<count_t>(part.size()));
}

// The next chunk of every block that is sent in chunks; all ranks go through as many steps as the longest needs.
void shared_exchange::post_chunks() {
  c_.begin();
  const count_t chunk = chunk_bytes();
  const count_t begin = static_cast<count_t>(step_) * chunk;
  std::size_t used = 0;
  for (int k = 1; k < c_.size(); ++k) {
    const int reader = peer_at(k);
    const bool in_chunks = path_of(reader, used) == kind::chunks;
    const count_t n = in_chunks ? std::clamp<count_t>(sent(reader) - begin, 0, chunk) : 0;
    mailbox& box = c_.to(reader);
    box.describe(n > 0 ? kind::payload : kind::none, static_cast<std::uint64_t>(n));
    box.place = static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(chunk);
    std::memcpy(box.data.data(), &begin, sizeof begin);
    if (n > 0) {
      std::byte* const to = c_.payload(c_.rank()) + box.place;
      pack_range(send_at(reader), x_.send.counts[reader], x_.send.element_of(reader), begin, n, to);
    }
    bytes_copied_ += static_cast<std::uint64_t>(n);
    c_.publish(reader);
  }
}

void shared_exchange::take_chunks() {
  for (int k = 1; k < c_.size(); ++k) {
    const int writer = peer_at(k);
    const mailbox& box = c_.from(writer);
    if (box.what() != kind::payload) continue;
    count_t begin = 0;
    std::memcpy(&begin, box.data.data(), sizeof begin);
    const count_t n = std::clamp<count_t>(expected(writer) - begin, 0, static_cast<count_t>(box.size()));
    unpack_range(c_.payload(writer) + box.place, recv_at(writer), x_.recv.counts[writer], x_.recv.element_of(writer),
                 begin, n);
    bytes_copied_ += static_cast<std::uint64_t>(n);
  }
}

void shared_exchange::fail(invalid_argument what) noexcept {
  if (!error_) error_ = std::move(what);
}

std::exception_ptr shared_exchange::error_at_end() const {
  return std::make_exception_ptr(usage_error(error_->what, error_->mpi_class, c_.rank(), error_->peer));
}

void shared_exchange::account(statistics& s) const {
  s.rounds += 1 + steps_;
  for (int peer = 0; peer < c_.size(); ++peer) {
    const count_t n = peer == c_.rank() ? 0 : sent(peer);
    s.messages += n > 0 ? 1U : 0U;
    s.bytes_sent += static_cast<std::uint64_t>(n);
  }
  s.bytes_copied += bytes_copied_;
}

}  // namespace taquin::detail
