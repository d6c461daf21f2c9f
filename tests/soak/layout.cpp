#include "soak/layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "support/problem.hpp"

namespace taquin::soak {

namespace {

using test::at;

constexpr count_t layout_room = 64;  // guards at both ends, and the place of negative lower bounds
constexpr count_t word = sizeof(int);

layout_type layout_of(const test::test_type& t, bool interleaves) {
  layout_type l{.type = t.type, .size = t.size(), .extent = t.extent, .interleaves = interleaves, .stretches = {}};
  const auto [low, high] = std::ranges::minmax(t.bytes);
  l.low = low;
  l.high = high + 1;
  for (const count_t b : t.bytes) {
    if (l.stretches.empty() || l.stretches.back().offset + l.stretches.back().length != b)
      l.stretches.push_back({b, 0});
    ++l.stretches.back().length;
  }
  return l;
}

struct type_list {
  std::vector<test::type_pair> owners;
  std::vector<type_sides> types;
  std::size_t plain = 0;

  type_list() {
    for (const auto& n : test::all_types) {
      owners.push_back(n.make());
      types.push_back(
          {n.name, layout_of(owners.back().send, n.interleaves), layout_of(owners.back().recv, n.interleaves)});
      plain += n.interleaves ? 0U : 1U;
    }
  }
};

type_list& types() {
  static type_list list;
  return list;
}

}  // namespace

std::span<const type_sides> all_types() { return types().types; }
void release_types() { types().owners.clear(); }
std::size_t plain_types() { return types().plain; }

void write_stream(std::uint64_t key, std::byte* to, count_t n) noexcept {
  const auto value = [&](std::uint64_t k) {
    std::uint64_t v = (key ^ k) * 0x9e3779b97f4a7c15ULL;
    v ^= v >> 32U;
    return v * 0xd6e8feb86659fd93ULL;
  };
  count_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const std::uint64_t v = value(static_cast<std::uint64_t>(i));
    std::memcpy(to + i, &v, 8);
  }
  const std::uint64_t v = value(static_cast<std::uint64_t>(i));
  if (i < n) std::memcpy(to + i, &v, static_cast<std::size_t>(n - i));
}

void scatter(const layout_type& t, const std::byte* row, std::byte* origin, count_t n) noexcept {
  for (count_t i = 0; i < n; ++i, origin += t.extent)
    for (const stretch& s : t.stretches) {
      std::memcpy(origin + s.offset, row, static_cast<std::size_t>(s.length));
      row += s.length;
    }
}

void gather(const layout_type& t, const std::byte* origin, std::byte* row, count_t n) noexcept {
  for (count_t i = 0; i < n; ++i, origin += t.extent)
    for (const stretch& s : t.stretches) {
      std::memcpy(row, origin + s.offset, static_cast<std::size_t>(s.length));
      row += s.length;
    }
}

void side::lay_out(const recipe& r, int rank, bool receives) {
  const std::size_t p = at(r.p);
  counts.resize(p);
  displs.resize(p);
  origins.resize(p);
  types.resize(p);
  handles.resize(p);
  std::array<int, most_ranks> order{};
  std::iota(order.begin(), order.begin() + r.p, 0);
  source s(hash(r.seed, at(rank), receives ? 1 : 2));
  if (r.shuffled)
    for (int i = r.p - 1; i > 0; --i) std::swap(order[at(i)], order[s.below(at(i) + 1)]);
  const bool in_bytes = r.form == exchange::form::alltoallw;
  count_t cursor = 0;
  end = 0;
  for (int k = 0; k < r.p; ++k) {
    const int peer = order[at(k)];
    const auto& pair = all_types()[receives ? type_number(r, peer, rank) : type_number(r, rank, peer)];
    const layout_type& t = receives || r.in_place ? pair.recv : pair.send;
    const count_t n = receives ? count(r, peer, rank) : count(r, rank, peer);
    const count_t unit = in_bytes ? word : t.extent;
    const count_t gap = r.shuffled ? static_cast<count_t>(s.below(3)) : 0;
    const count_t first = t.interleaves ? cursor : cursor - t.low;
    count_t steps = (first + unit - 1) / unit + gap;
    if (r.form == exchange::form::alltoall) steps = k * n;
    const count_t origin = steps * unit;
    origins[at(peer)] = origin;
    displs[at(peer)] = in_bytes ? origin : steps;
    counts[at(peer)] = n;
    types[at(peer)] = &t;
    handles[at(peer)] = t.type;
    if (n == 0) continue;
    end = std::max(end, origin + (n - 1) * t.extent + t.high);
    cursor = t.interleaves ? origin + n * t.extent : origin + (n - 1) * t.extent + t.high;
  }
  if (!r.narrow) return;
  counts32.assign(counts.begin(), counts.end());
  displs32.assign(displs.begin(), displs.end());
}

void buffers::prepare(const recipe& r, int rank) {
  recipe_ = r;
  rank_ = rank;
  recv_.lay_out(r, rank, true);
  if (!r.in_place || !r.symmetric) send_.lay_out(r, rank, false);
  const side& sent = r.in_place && r.symmetric ? recv_ : send_;
  const count_t recv_end = r.in_place ? std::max(recv_.end, sent.end) : recv_.end;
  recv_bytes_ = static_cast<std::size_t>(recv_end + 2 * layout_room);
  send_bytes_ = r.in_place ? 0 : static_cast<std::size_t>(send_.end + 2 * layout_room);
  if (recv_buffer_.size() < recv_bytes_) recv_buffer_.resize(recv_bytes_);
  if (send_buffer_.size() < send_bytes_) send_buffer_.resize(send_bytes_);
  const std::size_t both = std::max(recv_bytes_, send_bytes_);
  if (image_.size() < both) image_.resize(both);
  if (row_.size() < both) row_.resize(both);
}

// The data of one side's blocks at their places.
void buffers::write_side(const side& s, bool receives, std::byte* base) {
  for (int peer = 0; peer < recipe_.p; ++peer) {
    const count_t n = s.counts[at(peer)];
    if (n == 0) continue;
    const layout_type& t = *s.types[at(peer)];
    const auto from = at(receives ? peer : rank_);
    const auto to = at(receives ? rank_ : peer);
    const std::uint64_t key = hash(recipe_.seed ^ mix(salt_), from, to);
    std::byte* const origin = base + s.origins[at(peer)];
    if (t.plain()) {
      write_stream(key, origin, n * t.size);
    } else {
      if (row_.size() < static_cast<std::size_t>(n * t.size)) row_.resize(static_cast<std::size_t>(n * t.size));
      write_stream(key, row_.data(), n * t.size);
      scatter(t, row_.data(), origin, n);
    }
  }
}

// The content of a buffer before the exchange.
void buffers::image_before(std::byte* image, bool receives) {
  std::memset(image, static_cast<int>(guard), receives ? recv_bytes_ : send_bytes_);
  if (!receives) write_side(send_, false, image + layout_room);
  if (receives && recipe_.in_place) write_side(recipe_.symmetric ? recv_ : send_, false, image + layout_room);
}

void buffers::fill(std::uint64_t salt) {
  salt_ = salt;
  image_before(recv_buffer_.data(), true);
  if (!recipe_.in_place) image_before(send_buffer_.data(), false);
}

// With scratch_sends, what is in the send blocks now is as good as anything.
void buffers::keep_sent(std::byte* image) {
  for (int peer = 0; peer < recipe_.p; ++peer) {
    const layout_type& t = *send_.types[at(peer)];
    const count_t n = send_.counts[at(peer)];
    if (row_.size() < static_cast<std::size_t>(n * t.size)) row_.resize(static_cast<std::size_t>(n * t.size));
    gather(t, recv_buffer_.data() + layout_room + send_.origins[at(peer)], row_.data(), n);
    scatter(t, row_.data(), image + layout_room + send_.origins[at(peer)], n);
  }
}

std::size_t differences(const std::byte* a, const std::byte* b, std::size_t n) {
  if (std::memcmp(a, b, n) == 0) return 0;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < n; ++i) differ += a[i] == b[i] ? 0U : 1U;
  return differ;
}

std::size_t buffers::wrong() {
  image_before(image_.data(), true);
  if (recipe_.in_place && !recipe_.symmetric && recipe_.choices.in_place.scratch_sends) keep_sent(image_.data());
  write_side(recv_, true, image_.data() + layout_room);
  std::size_t wrong = differences(image_.data(), recv_buffer_.data(), recv_bytes_);
  if (recipe_.in_place) return wrong;
  image_before(image_.data(), false);
  return wrong + differences(image_.data(), send_buffer_.data(), send_bytes_);
}

bool buffers::untouched() {
  image_before(image_.data(), true);
  if (std::memcmp(image_.data(), recv_buffer_.data(), recv_bytes_) != 0) return false;
  if (recipe_.in_place) return true;
  image_before(image_.data(), false);
  return std::memcmp(image_.data(), send_buffer_.data(), send_bytes_) == 0;
}

exchange buffers::given(MPI_Comm comm) {
  const bool narrow = recipe_.narrow;
  const auto counts = [&](const side& s) {
    return narrow ? count_view(s.counts32.data()) : count_view(s.counts.data());
  };
  const auto displs = [&](const side& s) {
    return narrow ? count_view(s.displs32.data()) : count_view(s.displs.data());
  };
  void* const recv = recv_buffer_.data() + layout_room;
  const bool symmetric = recipe_.in_place && recipe_.symmetric;
  void* const send = symmetric ? MPI_IN_PLACE : send_buffer_.data() + layout_room;
  const side& sent = symmetric ? recv_ : send_;
  if (recipe_.in_place && !symmetric)
    return exchange::alltoallv_in_place(recv, counts(send_), displs(send_), counts(recv_), displs(recv_),
                                        recv_.handles[0], comm);
  switch (recipe_.form) {
    case exchange::form::alltoall:
      return exchange::alltoall(send, sent.counts[0], sent.handles[0], recv, recv_.counts[0], recv_.handles[0], comm);
    case exchange::form::alltoallv:
      return exchange::alltoallv(send, counts(sent), displs(sent), sent.handles[0], recv, counts(recv_), displs(recv_),
                                 recv_.handles[0], comm);
    default:
      return exchange::alltoallw(send, counts(sent), displs(sent), sent.handles.data(), recv, counts(recv_),
                                 displs(recv_), recv_.handles.data(), comm);
  }
}

void buffers::call_library(MPI_Comm comm) {
  void* const recv = recv_buffer_.data() + layout_room;
  void* const send = recipe_.in_place ? MPI_IN_PLACE : send_buffer_.data() + layout_room;
  const auto as_ints = [](const std::vector<count_t>& v) { return std::vector<int>(v.begin(), v.end()); };
  const side& sent = recipe_.in_place ? recv_ : send_;
  const auto to = as_ints(sent.counts), to_at = as_ints(sent.displs);
  const auto from = as_ints(recv_.counts), from_at = as_ints(recv_.displs);
  if (recipe_.form == exchange::form::alltoall)
    PMPI_Alltoall(send, to[0], sent.handles[0], recv, from[0], recv_.handles[0], comm);
  else if (recipe_.form == exchange::form::alltoallv)
    PMPI_Alltoallv(send, to.data(), to_at.data(), sent.handles[0], recv, from.data(), from_at.data(), recv_.handles[0],
                   comm);
  else
    PMPI_Alltoallw(send, to.data(), to_at.data(), sent.handles.data(), recv, from.data(), from_at.data(),
                   recv_.handles.data(), comm);
}

}  // namespace taquin::soak
