#include "node/offers.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

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

void node_offers::begin() {
  c_.begin();
  for (int reader = 0; reader < c_.size(); ++reader) new (&of(c_.rank(), reader)) descriptor;
  come_ = 1;
  open_ = true;
  asked_.reset();
}

void node_offers::offer(int reader, const void* data, count_t length, count_t back) {
  const int there = node_.index(reader);
  if (there < 0) return;
  descriptor& b = of(c_.rank(), there);
  b.address = reinterpret_cast<std::uint64_t>(data);
  b.length = length;
  b.back = back;
  if (const auto shared = find_shared(data, as_size(length) * unit_bytes_)) b.shared = *shared;
  b.now.store(offered, std::memory_order_relaxed);
}

void node_offers::publish() {
  for (int reader = 0; reader < c_.size(); ++reader) {
    c_.to(reader).describe(mailbox::kind::none, 0);
    c_.publish(reader);
  }
}

bool node_offers::all_here() {
  for (; come_ < c_.size(); ++come_)
    if (!c_.has_come((c_.rank() + come_) % c_.size())) return false;
  return true;
}

bool node_offers::copy(const descriptor& b, pid_t process, std::size_t begin, std::byte* to,
                       std::size_t bytes) noexcept {
  if (b.shared.known()) {
    const buffer_place part{b.shared.key, b.shared.offset + begin};
    if (const std::byte* from = view_shared(part, bytes)) {
      copy_bytes(to, from, bytes);
      return true;
    }
  }
  return single_copy(process, b.address + begin, to, bytes) == 0;
}

bool node_offers::fetch(int writer, count_t offset, count_t expected, std::byte* to, count_t length) {
  const int there = node_.index(writer);
  if (there < 0) return false;
  descriptor& b = of(there, c_.rank());
  const std::uint32_t n = b.noted.load(std::memory_order_relaxed);
  if (n - b.seen.load(std::memory_order_acquire) == notes) return false;
  std::uint32_t free = offered;
  if (!b.now.compare_exchange_strong(free, claimed, std::memory_order_acq_rel)) return false;
  const bool copied = b.length == expected &&
                      copy(b, c_.process(there), as_size(offset) * unit_bytes_, to, as_size(length) * unit_bytes_);
  if (copied) {
    b.fetched[n % notes] = {offset, length};
    b.noted.store(n + 1, std::memory_order_release);
  }
  b.now.store(offered, std::memory_order_release);
  return copied;
}

std::optional<node_offers::part> node_offers::next_fetched() {
  for (int k = 0; k < c_.size(); ++k, next_ = (next_ + 1) % c_.size()) {
    descriptor& b = of(c_.rank(), next_);
    const std::uint32_t seen = b.seen.load(std::memory_order_relaxed);
    if (b.noted.load(std::memory_order_acquire) == seen) continue;
    const auto& note = b.fetched[seen % notes];
    const part p{node_.member(next_), note[0], note[1]};
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

count_t node_offers::swap_some(int peer, std::byte* room, count_t units) {
  c_.give_what_is_asked();
  if (asked_) return go_on_with_asked();
  const count_t all = swappable(peer);
  if (all == 0) return 0;
  const int there = node_.index(peer);
  descriptor& both = counters(there);
  const count_t at = both.begun.fetch_add(units, std::memory_order_relaxed);
  if (at >= all) return 0;
  const count_t n = std::min(units, all - at);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (swap(there, of(there, c_.rank()), reinterpret_cast<std::byte*>(of(c_.rank(), there).address), at, room, n))
    both.swapped.fetch_add(n, std::memory_order_release);
  return n;
}

// Through mapped memory in parts that stay in the nearest cache. False if the kernel refuses: a request follows.
bool node_offers::swap(int there, const descriptor& theirs, std::byte* mine, count_t at, std::byte* room,
                       count_t units) {
  constexpr std::size_t most = 16384;
  const std::size_t begin = as_size(at) * unit_bytes_;
  const std::size_t bytes = as_size(units) * unit_bytes_;
  mine += begin;
  if (theirs.shared.known()) {
    if (std::byte* other = view_shared({theirs.shared.key, theirs.shared.offset + begin}, bytes)) {
      for (std::size_t done = 0; done < bytes; done += most) {
        const std::size_t n = std::min(most, bytes - done);
        copy_bytes(room, other + done, n);
        copy_bytes(other + done, mine + done, n);
        copy_bytes(mine + done, room, n);
      }
      return true;
    }
  }
  const pid_t process = c_.process(there);
  int code = single_copy(process, theirs.address + begin, room, bytes);
  if (code == 0) code = single_copy_back(process, mine, theirs.address + begin, bytes);
  mpi::refuse_if_gone(code, node_.member(there));
  if (is_refusal(code) && requested_copy::part_bytes(c_) > 0) {
    asked_.emplace(c_, there, theirs.address + begin, bytes, mine);
    asked_for_ = mine;
    asked_units_ = units;
    asked_in_ = &counters(there);
    return false;
  }
  if (code != 0)
    throw usage_error(
        fmt::format("the memory of rank {} cannot be written: {}", node_.member(there), std::strerror(code)),
        MPI_ERR_BUFFER, node_.member(c_.rank()), node_.member(there));
  copy_bytes(mine, room, bytes);
  return true;
}

// Returns the number of units as long as some are missing, and once more when all have been swapped.
count_t node_offers::go_on_with_asked() noexcept {
  for (auto came = asked_->next(); !came.empty(); came = asked_->next())
    copy_bytes(asked_for_ + asked_->offset(), came.data(), came.size());
  if (asked_->done()) {
    asked_in_->swapped.fetch_add(asked_units_, std::memory_order_release);
    asked_.reset();
  }
  return asked_units_;
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
