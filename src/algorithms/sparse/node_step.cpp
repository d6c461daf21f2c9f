#include "algorithms/sparse/node_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "algorithms/nodes/shared_exchange.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "node/requested_copy.hpp"
#include "node/single_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

using kind = mailbox::kind;

constexpr std::uint32_t is_sparse = 64;           // in the hash that ranks compare: an exchange has less
constexpr std::uint32_t most_reported = 0xffffU;  // blocks are fewer

// How many blocks a rank has, and how many it could take; `most_told`: any number.
constexpr std::uint32_t report(std::size_t has, std::size_t takes) noexcept {
  const std::size_t finite = std::min<std::size_t>(takes, most_reported - 1);
  return static_cast<std::uint32_t>(has) | (takes == unlimited ? most_reported : static_cast<std::uint32_t>(finite))
                                               << 16U;
}

std::byte* at_address(std::uint64_t place) noexcept {
  return reinterpret_cast<std::byte*>(place);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

std::uint32_t node_step::choices() const noexcept {
  return is_sparse + static_cast<std::uint32_t>(why_) + (named_ ? 128U : 0U) +
         (static_cast<std::uint32_t>(mine_.element.size) << 8U);
}

bool node_step::take_payload(std::size_t bytes, std::size_t& at) noexcept {
  at = used_;
  return shared_exchange::take_payload(static_cast<count_t>(bytes), payload_bytes_, used_);
}

// How a block is transferred; writes its description in a mailbox or a list.
std::optional<kind> node_step::write(int reader, count_t count, count_t first, std::uint64_t& place, std::byte* data) {
  const element& e = mine_.element;
  const auto n = static_cast<std::size_t>(count * e.size);
  const std::byte* const from = mine_.at + first * e.extent;
  const bool own = reader == c_.rank();
  if (why_ == purpose::headers || own) {
    place = why_ == purpose::headers ? static_cast<std::uint64_t>(first) : reinterpret_cast<std::uint64_t>(from);
    return kind::remote;
  }
  ++messages_;
  bytes_sent_ += n;
  std::byte* to = n <= mailbox::capacity ? data : nullptr;
  const bool readable = e.contiguous() && c_.single_copies();
  std::size_t at = 0;
  if (to == nullptr && (!readable || static_cast<count_t>(n) <= shared_exchange::most_of(c_)) && take_payload(n, at)) {
    place = at;
    to = c_.payload(c_.rank()) + at;
    bytes_copied_ += n;
  }
  if (to == nullptr && !readable) return std::nullopt;
  if (to == nullptr) {
    place = reinterpret_cast<std::uint64_t>(from);
    ++offers_;
    return kind::remote;
  }
  if (n == 0) return kind::here;
  if (e.contiguous())
    copy_bytes(to, from, n);
  else
    pack(from, count, e, to);
  return to == data ? kind::here : kind::payload;
}

bool node_step::put(int reader, count_t count, count_t first) {
  mailbox& box = c_.to(reader);
  if (box.what() != kind::none) return put_in_list(reader, count, first);
  const auto what = write(reader, count, first, box.place, box.data.data());
  if (what) box.describe(*what, static_cast<std::uint64_t>(count * mine_.element.size));
  return what.has_value();
}

// Before the present ones: blocks are written from the last to the first.
bool node_step::put_in_list(int reader, count_t count, count_t first) {
  mailbox& box = c_.to(reader);
  std::size_t at = 0;
  const auto make = [&]() -> listed* {
    return take_payload(sizeof(listed), at) ? new (c_.payload(c_.rank()) + at) listed : nullptr;
  };
  if (box.what() != list) {
    listed* const only = make();
    if (only == nullptr) return false;
    *only = {box.size(), box.place, end_of_list, box.what(), box.data};
    box.place = at;
    box.describe(list, 1);
  }
  listed* const one = make();
  if (one == nullptr) return false;
  const std::uint64_t here = at;
  const auto what = write(reader, count, first, one->place, one->data.data());
  if (!what) return false;
  one->what = *what;
  one->bytes = static_cast<std::uint64_t>(count * mine_.element.size);
  one->next = box.place;
  box.place = here;
  box.describe(list, box.size() + 1);
  return true;
}

bool node_step::post(std::span<const int> destinations, const count_view& counts, const limits& l) {
  c_.begin();
  payload_bytes_ = std::min(l.memory, c_.payload_bytes()) / cache_line * cache_line;
  for (int reader = 0; reader < c_.size(); ++reader) c_.to(reader).describe(kind::none, 0);
  bool good = destinations.size() < most_reported;
  count_t first = mine_.to_send;
  for (std::size_t i = destinations.size(); i-- > 0 && good;) {
    const count_t n = counts[static_cast<int>(i)];
    first -= n;
    try {  // a type may have to be packed
      good = put(destinations[i], n, first);
    } catch (const std::exception&) {
      good = false;
    }
  }
  const std::size_t left = l.memory - std::min(l.memory, used_);
  const std::uint32_t reported =
      good ? report(destinations.size(), l.memory == unlimited || l.each == 0 ? unlimited : left / l.each) : 0;
  publish(good ? choices() : 0, reported);
  return good;
}

void node_step::refuse() {
  c_.begin();
  for (int reader = 0; reader < c_.size(); ++reader) c_.to(reader).describe(kind::none, 0);
  publish(0, 0);
}

void node_step::publish(std::uint32_t choices, std::uint32_t reported) {
  for (int k = 1; k <= c_.size(); ++k) {
    const int reader = (c_.rank() + k) % c_.size();
    mailbox& box = c_.to(reader);
    box.choices = choices;
    box.steps = reported;
    c_.publish(reader);
  }
}

bool node_step::agreed() {
  c_.wait_for_mailboxes();
  std::size_t reported = 0;
  std::uint32_t takes = most_reported;
  const std::uint32_t requested = choices();
  for (int from = 0; from < c_.size(); ++from) {
    const mailbox& box = mailbox_of(from);
    if (box.what() == kind::record || box.choices != requested) return false;
    reported += box.steps & most_reported;
    takes = std::min(takes, box.steps >> 16U);
    if (box.what() == kind::none) continue;
    blocks_ += box.what() == list ? box.size() : 1;
    reads_ = reads_ || (from != c_.rank() && box.what() != kind::here && box.what() != kind::payload);
  }
  return takes == most_reported || reported <= takes;
}

// Of the receiver's type; the sender's data are contiguous.
void node_step::fetch(const block& b, count_t first, count_t count, std::byte* to) {
  const element& e = mine_.element;
  const auto n = static_cast<std::size_t>(count * e.size);
  const std::uint64_t address = b.place + static_cast<std::uint64_t>(first * e.size);
  const pid_t process = c_.process(b.from);
  int code = 0;
  if (e.contiguous()) {
    code = single_copy(process, address, to, n);
  } else {
    alignas(cache_line) std::array<std::byte, 16384> part;
    for (std::size_t done = 0; done < n && code == 0; done += part.size()) {
      const std::size_t now = std::min(n - done, part.size());
      code = single_copy(process, address + done, part.data(), now);
      if (code == 0) unpack_range(part.data(), to, count, e, static_cast<count_t>(done), static_cast<count_t>(now));
    }
  }
  if (is_refusal(code) && requested_copy::part_bytes(c_) > 0) return request_copy(b.from, address, count, to);
  if (code != 0)
    invalid_ = {fmt::format("rank {} cannot read {} bytes of rank {}: {}", c_.rank(), n, b.from, std::strerror(code)),
                MPI_ERR_BUFFER, b.from};
}

// The blocks that this rank may not read.
void node_step::request_copy(int owner, std::uint64_t address, count_t count, std::byte* to) {
  const element& e = mine_.element;
  requested_copy parts(c_, owner, address, static_cast<std::size_t>(count * e.size));
  while (!parts.done()) {
    std::span<const std::byte> part;
    c_.wait([&] { return !(part = parts.next()).empty() || parts.done(); });
    if (part.empty()) continue;
    if (e.contiguous())
      copy_bytes(to + parts.offset(), part.data(), part.size());
    else
      unpack_range(part.data(), to, count, e, static_cast<count_t>(parts.offset()), static_cast<count_t>(part.size()));
  }
}

// After an error others must not wait for this rank.
void node_step::copy(const block& b, count_t first, count_t count, std::byte* to) {
  if (count == 0 || invalid_) return;
  try {
    copy_now(b, first, count, to);
  } catch (const error& e) {
    invalid_ = {e.what(), e.mpi_class()};
  } catch (const std::bad_alloc&) {
    invalid_ = out_of_memory();
  }
}

void node_step::copy_now(const block& b, count_t first, count_t count, std::byte* to) {
  const element& e = mine_.element;
  const auto n = static_cast<std::size_t>(count * e.size);
  bytes_copied_ += n;
  if (b.what == kind::remote) {
    if (b.from != c_.rank()) return fetch(b, first, count, to);
    const std::byte* const from = at_address(b.place) + first * e.extent;
    if (!e.contiguous()) return typed_copy(from, count, e, to, count, e);
    copy_bytes(to, from, n);
    return;
  }
  const std::byte* const from = (b.what == kind::here ? b.data : c_.payload(b.from) + b.place) + first * e.size;
  if (e.contiguous())
    copy_bytes(to, from, n);
  else
    unpack(from, to, count, e);
}

void node_step::release() noexcept {
  if (reads_) c_.fetched();
  reads_ = false;
}

void node_step::end() {
  release();
  if (offers_ == 0) return;
  offers_ = 0;
  const std::uint64_t step = c_.step();
  for (int k = 1; k < c_.size(); ++k) {
    const int reader = (c_.rank() + k) % c_.size();
    const kind what = c_.to(reader).what();
    if (mailbox::may_be_read(what) || what == list) c_.wait([&] { return c_.has_fetched(reader, step); });
  }
}

void node_step::account(statistics& s) const noexcept {
  ++s.rounds;
  s.messages += messages_;
  s.bytes_sent += bytes_sent_;
  s.bytes_copied += bytes_copied_;
}

const sparse_algorithm node_step_algorithm{
    .name = "node_step",
    .summary =
        "on one node: sizes and small data in one step in its memory, larger data copied once by their receivers",
    .source = "taquin",
    .rounds = "1",
    .find = nullptr,
    .memory = nullptr,
    .needs = "ranks of one node, whose memory has room for their blocks"};

}  // namespace taquin::detail
