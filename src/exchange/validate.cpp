#include "exchange/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "base/checked.hpp"
#include "base/sizes.hpp"
#include "mpi/library.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// Bytes that a block spans, from its side's base.
struct span_of {
  count_t begin;
  count_t end;
  int peer;
};

span_of span(const block& b, int peer) {
  const count_t begin = b.offset + b.element.true_lb;
  return {begin, begin + (b.count - 1) * b.element.extent + b.element.true_extent, peer};
}

count_t address(const blocks& side) { return static_cast<count_t>(reinterpret_cast<std::uintptr_t>(side.base)); }

// Null is the address that MPI calls MPI_BOTTOM: valid with types that hold absolute addresses. No object lies in the
// first page.
bool is_null(const blocks& side, const block& b) {
  constexpr count_t first_page = 4096;
  return side.base == nullptr && span(b, 0).begin < first_page;
}

// The common case: one type and a buffer. Only the counts can then be invalid. The bitwise or of all counts is at least
// the largest, so one product shows that none is too large.
bool plainly_valid(const blocks& side, int ranks) {
  if (side.base == nullptr || side.elements != nullptr || side.element.type == MPI_DATATYPE_NULL) return false;
  count_t counts = 0;
  count_t displs = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const count_t displ = side.displs[peer];
    counts |= side.counts[peer];
    displs |= displ < 0 ? ~displ : displ;
  }
  const element& e = side.element;
  const auto magnitude = [](count_t v) { return v < 0 ? -v : v; };
  const count_t step = e.size | magnitude(e.extent) | magnitude(e.true_lb) | e.true_extent;
  return counts >= 0 && (checked(counts) * step * ranks + checked(displs) * magnitude(side.displ_unit) + step).fits();
}

// No value that is computed from a block's figures may exceed 64 bits.
bool block_fits(const blocks& side, int peer) {
  const count_t count = side.counts[peer];
  const element e = side.element_of(peer);
  const checked offset = checked(side.displs[peer]) * side.displ_unit;
  const checked origin = offset + e.true_lb;
  return offset.fits() && origin.fits() && (checked(count) * e.size).fits() &&
         (checked(count) * e.extent + origin).fits() && (checked(count) * e.extent + origin + e.true_extent).fits();
}

invalid_argument beyond_limit(const char* name, int peer, count_t count) {
  return {fmt::format("{} count {} for rank {} makes more than 2^56 bytes, or lies farther than that from the buffer",
                      name, count, peer),
          MPI_ERR_COUNT, peer};
}

// All blocks of an alltoall have one size, and follow each other.
bool sequence_fits(const blocks& side, int ranks) {
  const count_t count = side.counts[0];
  const element& e = side.element;
  return (checked(count) * e.size * ranks).fits() && (checked(count) * e.extent * ranks + e.true_lb).fits() &&
         (checked(count) * e.extent * ranks + e.true_lb + e.true_extent).fits();
}

std::optional<invalid_argument> check_blocks(const blocks& side, const char* name, int ranks) {
  if (plainly_valid(side, ranks)) return std::nullopt;
  checked total = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const count_t count = side.counts[peer];
    if (count < 0)
      return invalid_argument{fmt::format("negative {} count {} for rank {}", name, count, peer), MPI_ERR_COUNT, peer};
    if (count == 0) continue;
    if (!block_fits(side, peer)) return beyond_limit(name, peer, count);
    const block b = side[peer];
    if (b.element.type == MPI_DATATYPE_NULL)
      return invalid_argument{fmt::format("null {} datatype for rank {} with count {}", name, peer, b.count),
                              MPI_ERR_TYPE, peer};
    if (b.element.size > 0 && is_null(side, b))
      return invalid_argument{fmt::format("null {} buffer for rank {} with count {}", name, peer, b.count),
                              MPI_ERR_BUFFER, peer};
    total = total + b.bytes();
    if (!total.fits())
      return invalid_argument{fmt::format("{} counts make more than 2^56 bytes in all", name), MPI_ERR_COUNT};
  }
  return std::nullopt;
}

// In an alltoall one block stands for all.
std::optional<invalid_argument> check_sequence(const blocks& side, const char* name, int ranks) {
  if (auto invalid = check_blocks(side, name, 1)) return invalid;
  if (!sequence_fits(side, ranks)) return beyond_limit(name, ranks - 1, side.counts[0]);
  return std::nullopt;
}

// In alltoallw each block has a type of its own: only blocks without gaps are comparable by the bytes that they span.
bool comparable(const blocks& side, const block& b) {
  return side.elements == nullptr ? b.element.true_extent <= b.element.extent : b.element.contiguous();
}

std::optional<invalid_argument> overlap(const span_of& a, const span_of& b, const char* name) {
  return invalid_argument{fmt::format("{} blocks of ranks {} and {} overlap: bytes {} to {} and {} to {}", name, a.peer,
                                      b.peer, a.begin, a.end - 1, b.begin, b.end - 1),
                          MPI_ERR_BUFFER, b.peer};
}

template <class Relevant>
std::optional<invalid_argument> compare_all_pairs(const blocks& side, const char* name, int ranks, Relevant relevant) {
  for (int i = 0; i < ranks; ++i) {
    if (!relevant(side[i])) continue;
    const span_of a = span(side[i], i);
    for (int j = 0; j < i; ++j) {
      if (!relevant(side[j])) continue;
      const span_of b = span(side[j], j);
      if (a.begin < b.end && b.begin < a.end) return overlap(b, a, name);
    }
  }
  return std::nullopt;
}

std::optional<invalid_argument> check_overlap(const blocks& side, const char* name, int ranks,
                                              std::pmr::memory_resource* memory) {
  const auto relevant = [&](const block& b) { return b.bytes() > 0 && comparable(side, b); };
  bool ordered = true;
  count_t end = std::numeric_limits<count_t>::min();
  for (int peer = 0; ordered && peer < ranks; ++peer) {
    const block b = side[peer];
    if (!relevant(b)) continue;
    const span_of s = span(b, peer);
    ordered = s.begin >= end;
    end = s.end;
  }
  if (ordered) return std::nullopt;
  std::pmr::vector<span_of> spans(memory);
  try {
    spans.reserve(as_size(ranks));
  } catch (const budget_exceeded&) {  // slower, without memory; all ranks decide later whether the limit is enough
    return compare_all_pairs(side, name, ranks, relevant);
  } catch (const std::bad_alloc&) {
    return compare_all_pairs(side, name, ranks, relevant);
  }
  for (int peer = 0; peer < ranks; ++peer)
    if (const block b = side[peer]; relevant(b)) spans.push_back(span(b, peer));
  std::ranges::sort(spans, {}, &span_of::begin);
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i].begin < spans[i - 1].end) return overlap(spans[i - 1], spans[i], name);
  return std::nullopt;
}

// MPICH reports this error itself where counts and types show that the blocks are the same on both sides. Otherwise it
// may continue, or end the program.
bool one_buffer_is_an_error() { return mpi::running_library() == mpi::library::mpich; }

std::optional<invalid_argument> check_one_buffer(const exchange& x) {
  const blocks& s = x.send;
  const blocks& r = x.recv;
  if (x.in_place || s.base == nullptr) return std::nullopt;
  int inter = 0;
  if (x.comm != MPI_COMM_NULL) PMPI_Comm_test_inter(x.comm, &inter);
  bool same = false;
  if (x.kind == exchange::form::alltoall) {
    same = s.counts[0] == r.counts[0] && s.counts[0] != 0 && s.element.type == r.element.type;
  } else {
    same = s.counts.same_array(r.counts) && s.types == r.types && s.element.type == r.element.type;
  }
  if (inter != 0 || !same) return std::nullopt;
  return invalid_argument{"the same buffer for sending and receiving, without MPI_IN_PLACE", MPI_ERR_BUFFER};
}

// The common case: arrays of 32 bits, and one type without gaps that is so small that no 31-bit count makes too many
// bytes. True when the counts are valid and, if requested, blocks are contiguous in order. Then `around` is addresses
// that the blocks lie between: not the closest ones, but found without a comparison per block.
bool quickly_valid(const blocks& side, int ranks, bool in_order, span_of& around) {
  constexpr count_t small = 1 << 16U;
  const std::int32_t* const counts = side.counts.narrow();
  const std::int32_t* const displs = side.displs.narrow();
  const element& e = side.element;
  if (counts == nullptr || displs == nullptr || side.base == nullptr || side.elements != nullptr ||
      e.type == MPI_DATATYPE_NULL || !e.contiguous() || e.size >= small || ranks >= small / 256)
    return false;
  std::int64_t end = std::numeric_limits<std::int32_t>::min();
  std::int32_t all_counts = 0;  // bitwise or: at least the largest
  std::int32_t all_displs = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    all_counts |= counts[peer];
    all_displs |= displs[peer];
    if (!in_order || counts[peer] <= 0) continue;
    if (displs[peer] < end) return false;
    end = std::int64_t{displs[peer]} + counts[peer];
  }
  if (all_counts < 0 || all_displs < 0) return false;
  around = {address(side), address(side) + (count_t{all_counts} + all_displs) * e.size, 0};
  return true;
}

bool overlap(const span_of& a, const span_of& b) { return a.begin < b.end && b.begin < a.end; }

// The addresses of a block; none if it is empty, or has gaps, in which another type's data may lie.
std::optional<span_of> addresses(const blocks& side, int peer, int repeat = 1) {
  block b = side[peer];
  b.count *= repeat;
  if (b.bytes() <= 0 || !b.element.contiguous()) return std::nullopt;
  span_of s = span(b, peer);
  s.begin += address(side);
  s.end += address(side);
  return s;
}

// The addresses between which all blocks of a side lie, and whether they are in order.
struct extent_of_side {
  std::optional<span_of> all{};
  bool in_order = true;
};

extent_of_side extent_of(const exchange& x, const blocks& side, int ranks) {
  if (x.kind == exchange::form::alltoall) return {addresses(side, 0, ranks)};  // one block after the other
  extent_of_side e;
  for (int peer = 0; peer < ranks; ++peer) {
    const auto s = addresses(side, peer);
    if (!s) continue;
    e.in_order = e.in_order && (!e.all || s->begin >= e.all->end);
    e.all = !e.all ? *s : span_of{std::min(e.all->begin, s->begin), std::max(e.all->end, s->end), 0};
  }
  return e;
}

// No received byte may lie in a send block, unless the exchange is in place.
std::optional<invalid_argument> check_sides(const exchange& x, int ranks) {
  const auto sent = extent_of(x, x.send, ranks).all;
  const auto [received, in_order] = extent_of(x, x.recv, ranks);
  if (!sent || !received || !overlap(*sent, *received)) return std::nullopt;
  const bool identical = x.kind == exchange::form::alltoall;
  const auto named = [&](const span_of& s) { return identical ? "" : fmt::format(" (block of rank {})", s.peer); };
  const auto between = [&](const span_of& s, const span_of& r) {
    return invalid_argument{fmt::format("what is sent{} and what is received{} overlap by {} bytes: use MPI_IN_PLACE, "
                                        "alltoallv_in_place, or another buffer",
                                        named(s), named(r), std::min(s.end, r.end) - std::max(s.begin, r.begin)),
                            MPI_ERR_BUFFER, r.peer};
  };
  if (identical) return between(*sent, *received);
  int first = 0;  // received block that may overlap the send blocks from here on
  count_t begin = std::numeric_limits<count_t>::min();
  for (int i = 0; i < ranks; ++i) {  // one buffer holds both sides
    const auto s = addresses(x.send, i);
    if (!s || !overlap(*s, *received)) continue;
    if (s->begin < begin) first = 0;
    begin = s->begin;
    bool before = true;
    for (int j = first; j < ranks; ++j) {
      const auto r = addresses(x.recv, j);
      before = before && (!r || r->end <= begin);
      if (before) first = j + 1;
      if (!r || !overlap(*s, *r)) {
        if (r && in_order && r->begin >= s->end) break;
        continue;
      }
      return between(*s, *r);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<invalid_argument> validate(const exchange& x, int ranks, std::pmr::memory_resource* memory) {
  if (invalid_exchange::of(x) != nullptr) return of_interface(invalid_exchange::of(x));
  if (x.send.base == x.recv.base && one_buffer_is_an_error()) [[unlikely]] {
    if (auto d = check_one_buffer(x)) return d;
  }
  span_of sent{};
  span_of received{};
  if (x.kind == exchange::form::alltoallv && !x.in_place && quickly_valid(x.send, ranks, false, sent) &&
      quickly_valid(x.recv, ranks, true, received))
    return overlap(sent, received) ? check_sides(x, ranks) : std::nullopt;
  if (x.kind == exchange::form::alltoall) {  // whose blocks of one side do not overlap
    if (!x.in_place)
      if (auto d = check_sequence(x.send, "send", ranks)) return d;
    if (auto d = check_sequence(x.recv, "receive", ranks)) return d;
    return x.in_place ? std::nullopt : check_sides(x, ranks);
  }
  if (!x.in_place)
    if (auto d = check_blocks(x.send, "send", ranks)) return d;
  if (auto d = check_blocks(x.recv, "receive", ranks)) return d;
  if (auto d = check_overlap(x.recv, "receive", ranks, memory)) return d;
  if (!x.in_place) return check_sides(x, ranks);
  if (x.symmetric) return std::nullopt;
  if (auto d = check_blocks(x.send, "send", ranks)) return d;
  return check_overlap(x.send, "send", ranks, memory);
}

invalid_argument mismatch(int from, count_t sent, int to, count_t expected) {
  return {fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes", from, sent, to, expected),
          sent > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT, from};
}

}  // namespace taquin::detail
