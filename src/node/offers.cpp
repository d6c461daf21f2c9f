#include "node/offers.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "mpi/failure.hpp"
#include "node/single_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

void swap_bytes(std::byte* theirs, std::byte* mine, std::byte* space, std::size_t bytes) noexcept {
  constexpr std::size_t most = 16384;
  for (std::size_t done = 0; done < bytes; done += most) {
    const std::size_t n = std::min(most, bytes - done);
    copy_bytes(space, theirs + done, n);
    copy_bytes(theirs + done, mine + done, n);
    copy_bytes(mine + done, space, n);
  }
}

// Of this process.
std::byte* at_address(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

void node_offers::begin() {
  c_.begin();
  for (int reader = 0; reader < c_.size(); ++reader) new (&of(c_.rank(), reader)) descriptor;
  arrived_ = 1;
  end_ = 0;
  open_ = true;
  requested_.reset();
}

void node_offers::offer(int reader, const void* data, count_t length, count_t back, count_t at) {
  const int there = node_.index(reader);
  if (there < 0) return;
  descriptor& b = of(c_.rank(), there);
  b.first.address = reinterpret_cast<std::uint64_t>(data);
  b.length = length;
  b.back = back;
  b.at = at;
  end_ = std::max(end_, at + length);
  if (const auto shared = find_shared(data, as_size(length) * width(0))) b.first.shared = *shared;
  b.now.store(offered, std::memory_order_relaxed);
}

void node_offers::publish() {
  for (std::size_t c = 1; c < columns(); ++c) {
    const unit_column& column = columns_[c];
    place& p = further(c_.rank())[c - 1];
    p = {reinterpret_cast<std::uint64_t>(column.data), {}};
    if (const auto shared = find_shared(column.data, as_size(end_) * column.bytes)) p.shared = *shared;
  }
  for (int reader = 0; reader < c_.size(); ++reader) {
    c_.to(reader).describe(mailbox::kind::none, 0);
    c_.publish(reader);
  }
}

bool node_offers::all_here() {
  for (; arrived_ < c_.size(); ++arrived_)
    if (!c_.has_arrived((c_.rank() + arrived_) % c_.size())) return false;
  return true;
}

// A column of the data of one rank for another, from unit `offset` on.
node_offers::place node_offers::place_of(int writer, int reader, std::size_t column, count_t offset) const noexcept {
  const descriptor& b = of(writer, reader);
  if (column == 0) return b.first.after(as_size(offset) * width(0));
  return further(writer)[column - 1].after(as_size(b.at + offset) * width(column));
}

bool node_offers::copy(int there, count_t offset, std::span<std::byte* const> to, count_t units) noexcept {
  std::array<remote_part, most_columns> parts;
  std::size_t n = 0;
  for (std::size_t c = 0; c < columns(); ++c) {
    const place from = place_of(there, c_.rank(), c, offset);
    const std::size_t bytes = as_size(units) * width(c);
    const std::byte* const seen = from.shared.known() ? view_shared(from.shared, bytes) : nullptr;
    if (seen != nullptr) {
      copy_bytes(to[c], seen, bytes);
    } else {
      parts[n++] = {from.address, to[c], bytes};
    }
  }
  const pid_t process = c_.process(there);
  if (n == 1) return single_copy(process, parts[0].address, parts[0].to, parts[0].bytes) == 0;
  return single_copy(process, std::span(parts).first(n)) == 0;
}

bool node_offers::fetch(int writer, count_t offset, count_t expected, std::span<std::byte* const> to, count_t length) {
  const int there = node_.index(writer);
  if (there < 0) return false;
  descriptor& b = of(there, c_.rank());
  const std::uint32_t n = b.completed.load(std::memory_order_relaxed);
  if (n - b.seen.load(std::memory_order_acquire) == most_completions) return false;
  std::uint32_t free = offered;
  if (!b.now.compare_exchange_strong(free, claimed, std::memory_order_acq_rel)) return false;
  const bool copied = b.length == expected && copy(there, offset, to, length);
  if (copied) {
    b.fetched[n % most_completions] = {offset, length};
    b.completed.store(n + 1, std::memory_order_release);
  }
  b.now.store(offered, std::memory_order_release);
  return copied;
}

std::optional<node_offers::part> node_offers::next_fetched() {
  for (int k = 0; k < c_.size(); ++k, next_ = (next_ + 1) % c_.size()) {
    descriptor& b = of(c_.rank(), next_);
    const std::uint32_t seen = b.seen.load(std::memory_order_relaxed);
    if (b.completed.load(std::memory_order_acquire) == seen) continue;
    const auto& one = b.fetched[seen % most_completions];
    const part p{node_.member(next_), one[0], one[1]};
    b.seen.store(seen + 1, std::memory_order_release);
    return p;
  }
  return std::nullopt;
}

count_t node_offers::swappable(int peer) const noexcept {
  const int there = node_.index(peer);
  if (there < 0) return 0;
  const descriptor& mine = of(c_.rank(), there);
  const descriptor& theirs = of(there, c_.rank());
  return mine.back == theirs.length && theirs.back == mine.length ? std::min(mine.length, theirs.length) : 0;
}

count_t node_offers::swap_some(int peer, std::byte* space, count_t units) {
  c_.give_what_is_requested();
  if (requested_) return go_on_with_requested();
  const count_t all = swappable(peer);
  if (all == 0) return 0;
  const int there = node_.index(peer);
  descriptor& both = counters(there);
  const count_t at = both.started.fetch_add(units, std::memory_order_relaxed);
  if (at >= all) return 0;
  const count_t n = std::min(units, all - at);
  if (swap(there, at, space, n)) both.swapped.fetch_add(n, std::memory_order_release);
  return n;
}

// Through mapped memory in parts that stay in the nearest cache. False if the kernel refuses: a request follows.
bool node_offers::swap(int there, count_t at, std::byte* space, count_t units) {
  std::array<remote_part, most_columns> theirs;
  std::array<remote_part, most_columns> mine;
  std::size_t n = 0;
  std::uint32_t refusable = 0;
  for (std::size_t c = 0; c < columns(); ++c) {
    const place other = place_of(there, c_.rank(), c, at);
    std::byte* const own = at_address(place_of(c_.rank(), there, c, at).address);
    std::byte* const between = space + as_size(units) * before(c);
    const std::size_t bytes = as_size(units) * width(c);
    if (std::byte* const seen = other.shared.known() ? view_shared(other.shared, bytes) : nullptr) {
      swap_bytes(seen, own, between, bytes);
      continue;
    }
    refusable |= 1U << c;
    theirs[n] = {other.address, between, bytes};
    mine[n++] = {other.address, own, bytes};
  }
  if (n == 0) return true;
  const pid_t process = c_.process(there);
  int code = single_copy(process, std::span(theirs).first(n));
  if (code == 0) code = single_copy_back(process, std::span(mine).first(n));
  mpi::refuse_if_gone(code, node_.member(there));
  if (is_refusal(code) && requested_copy::part_bytes(c_) > 0) {
    requested_left_ = refusable;
    requested_at_ = at;
    requested_units_ = units;
    requested_in_ = &counters(there);
    post_request(there);
    return false;
  }
  if (code != 0)
    throw usage_error(
        fmt::format("the memory of rank {} cannot be written: {}", node_.member(there), std::strerror(code)),
        MPI_ERR_BUFFER, node_.member(c_.rank()), node_.member(there));
  for (std::size_t i = 0; i < n; ++i)
    copy_bytes(static_cast<std::byte*>(mine[i].to), static_cast<std::byte*>(theirs[i].to), mine[i].bytes);
  return true;
}

// The next column of a swap that the kernel refuses.
void node_offers::post_request(int there) noexcept {
  const auto c = static_cast<std::size_t>(std::countr_zero(requested_left_));
  requested_left_ &= requested_left_ - 1;
  requested_there_ = there;
  requested_for_ = at_address(place_of(c_.rank(), there, c, requested_at_).address);
  requested_.emplace(c_, there, place_of(there, c_.rank(), c, requested_at_).address,
                     as_size(requested_units_) * width(c), requested_for_);
}

// Returns the number of units as long as some are missing, and once more when all have been swapped.
count_t node_offers::go_on_with_requested() noexcept {
  for (auto arrived = requested_->next(); !arrived.empty(); arrived = requested_->next())
    copy_bytes(requested_for_ + requested_->offset(), arrived.data(), arrived.size());
  if (!requested_->done()) return requested_units_;
  if (requested_left_ != 0) {
    post_request(requested_there_);
  } else {
    requested_in_->swapped.fetch_add(requested_units_, std::memory_order_release);
    requested_.reset();
  }
  return requested_units_;
}

bool node_offers::swapped(int peer) const noexcept {
  const count_t all = swappable(peer);
  return all == 0 || counters(node_.index(peer)).swapped.load(std::memory_order_acquire) >= all;
}

bool node_offers::withdraw(int reader) {
  const int there = node_.index(reader);
  return there < 0 || withdraw_from(there);
}

bool node_offers::withdraw_from(int local) noexcept {
  std::uint32_t free = offered;
  return of(c_.rank(), local).now.compare_exchange_strong(free, nothing, std::memory_order_acq_rel) || free == nothing;
}

// A reader that died while it fetched writes nothing any more. Destructors call this, so an error of the wait is
// reported by a later call.
void node_offers::end() noexcept {
  if (!open_) return;
  open_ = false;
  const auto gone = [&](int reader) { return kill(c_.process(reader), 0) != 0 && errno == ESRCH; };
  for (int reader = 0; reader < c_.size(); ++reader)
    while (!withdraw_from(reader) && !gone(reader)) sched_yield();
}

}  // namespace taquin::detail
