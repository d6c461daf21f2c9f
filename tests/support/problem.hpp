// Random exchanges that every rank knows in full from a seed, and one rank's buffers of such an exchange.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "exchange/shape.hpp"
#include "support/types.hpp"
#include "taquin/exchange.hpp"

namespace taquin::test {

/// counts[i][j]: elements that rank i sends to rank j.
using count_matrix = std::vector<std::vector<count_t>>;

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// The senders, receivers and sizes. `most` elements in a block, at most.
struct workload {
  std::string_view name;
  count_matrix (*make)(int p, count_t most, std::mt19937& random);
};

namespace workload_detail {

template <class Cell>
count_matrix each_cell(int p, Cell cell) {
  count_matrix m(at(p), std::vector<count_t>(at(p)));
  for (int i = 0; i < p; ++i)
    for (int j = 0; j < p; ++j) m[at(i)][at(j)] = cell(i, j);
  return m;
}

inline count_t below(std::mt19937& random, count_t n) {
  return static_cast<count_t>(random() % static_cast<unsigned>(n));
}

}  // namespace workload_detail

inline constexpr std::array all_workloads{
    workload{"uniform", [](int p, count_t most,
                           std::mt19937&) { return workload_detail::each_cell(p, [&](int, int) { return most; }); }},
    workload{"random",
             [](int p, count_t most, std::mt19937& r) {
               return workload_detail::each_cell(p, [&](int, int) { return workload_detail::below(r, most + 1); });
             }},
    workload{"zipf",
             [](int p, count_t most, std::mt19937& r) {
               return workload_detail::each_cell(
                   p, [&](int, int) { return most / (1 + workload_detail::below(r, 2 * most)); });
             }},
    workload{"sparse",
             [](int p, count_t most, std::mt19937& r) {
               return workload_detail::each_cell(p, [&](int, int) {
                 return workload_detail::below(r, 3) == 0 ? 1 + workload_detail::below(r, most) : count_t{0};
               });
             }},
    workload{"one_empty",
             [](int p, count_t most, std::mt19937& r) {
               return workload_detail::each_cell(
                   p, [&](int i, int) { return i == p / 2 ? count_t{0} : workload_detail::below(r, most + 1); });
             }},
    workload{"hot",
             [](int p, count_t most, std::mt19937& r) {
               return workload_detail::each_cell(
                   p, [&](int, int j) { return j == p - 1 ? most : workload_detail::below(r, 2); });
             }},
    workload{"empty", [](int p, count_t,
                         std::mt19937&) { return workload_detail::each_cell(p, [](int, int) { return count_t{0}; }); }},
    workload{"self",
             [](int p, count_t most, std::mt19937&) {
               return workload_detail::each_cell(p, [&](int i, int j) { return i == j ? most : count_t{0}; });
             }},
};

inline void make_symmetric(count_matrix& m) {
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) m[i][j] = m[j][i];
}

/// The byte number `k` that rank `from` sends to rank `to` in the exchange number `salt`.
inline std::byte data_byte(int from, int to, count_t k, int salt) {
  auto h =
      static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(from) * 0xc2b2ae3d27d4eb4fULL +
      static_cast<std::uint64_t>(to) * 0x165667b19e3779f9ULL + static_cast<std::uint64_t>(salt) * 0x27d4eb2f165667c5ULL;
  h ^= h >> 29U;
  h *= 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::byte>(h >> 56U);
}

/// The filler of all places without data.
inline constexpr std::byte guard{0xa5};

/// One side of one rank: blocks in random order with gaps between them, or in rank order without.
struct side_layout {
  std::vector<count_t> counts;
  std::vector<count_t> displs;   // in `unit`
  std::vector<count_t> origins;  // bytes from the base
  std::vector<const test_type*> types;
  std::vector<MPI_Datatype> handles;
  count_t base = 0;  // bytes from the buffer's begin
  count_t end = 0;   // bytes from the base

  /// Calls f(byte of the buffer, number of the data byte) for the block of `peer`.
  template <class F>
  void for_each_byte(int peer, F f) const {
    const test_type& t = *types[at(peer)];
    for (count_t i = 0; i < counts[at(peer)]; ++i)
      for (count_t k = 0; k < t.size(); ++k)
        f(static_cast<std::size_t>(base + origins[at(peer)] + i * t.extent + t.bytes[static_cast<std::size_t>(k)]),
          i * t.size() + k);
  }
};

enum class order : std::uint8_t { ranks, shuffled };

inline side_layout lay_out(std::vector<count_t> counts, std::vector<const test_type*> types, bool displs_in_bytes,
                           order how, bool interleaves, std::mt19937& random) {
  const std::size_t p = counts.size();
  side_layout s{.counts = std::move(counts),
                .displs = std::vector<count_t>(p),
                .origins = std::vector<count_t>(p),
                .types = std::move(types),
                .handles = {}};
  std::vector<std::size_t> peers(p);
  std::iota(peers.begin(), peers.end(), std::size_t{0});
  if (how == order::shuffled) std::shuffle(peers.begin(), peers.end(), random);
  constexpr count_t room = 64;  // guards at both ends, and the place of negative lower bounds
  s.base = room;
  count_t cursor = 0;
  count_t end = 0;
  for (const std::size_t j : peers) {
    const test_type& t = *s.types[j];
    const auto [low, high] = std::ranges::minmax(t.bytes);
    const count_t unit = displs_in_bytes ? static_cast<count_t>(sizeof(int)) : t.extent;
    const count_t gap = how == order::shuffled ? static_cast<count_t>(random() % 3) : 0;
    const count_t first = interleaves ? cursor : cursor - low;  // least origin
    const count_t steps = (first + unit - 1) / unit + gap;
    s.origins[j] = steps * unit;
    s.displs[j] = displs_in_bytes ? s.origins[j] : steps;
    const count_t n = s.counts[j];
    if (n > 0) end = std::max(end, s.origins[j] + (n - 1) * t.extent + high + 1);
    cursor =
        interleaves ? s.origins[j] + n * t.extent : (n > 0 ? s.origins[j] + (n - 1) * t.extent + high + 1 : cursor);
  }
  s.end = end;
  for (const test_type* t : s.types) s.handles.push_back(t->type);
  return s;
}

/// Everything that all ranks know of an exchange.
struct problem {
  exchange::form kind = exchange::form::alltoallv;
  int p = 1;
  count_matrix counts;
  unsigned seed = 1;
  bool in_place = false;  ///< one buffer
  bool symmetric = true;  ///< in place: as MPI_IN_PLACE
  bool interleaves = false;
  std::vector<type_pair>* types =
      nullptr;  ///< alltoallw: of pair (i, j) the one numbered (i + j) mod n; else the first

  [[nodiscard]] const type_pair& types_of(int i, int j) const {
    return (*types)[kind == exchange::form::alltoallw ? at(i + j) % types->size() : 0];
  }
  [[nodiscard]] count_t bytes(int i, int j) const { return counts[at(i)][at(j)] * types_of(i, j).send.size(); }
};

/// The result of the library's agreement.
inline detail::shape shape_of(const problem& x) {
  detail::shape s{.ranks = x.p, .kind = x.kind, .in_place = x.in_place, .symmetric = x.symmetric};
  for (int i = 0; i < x.p; ++i) {
    std::uint64_t sum = 0;
    for (int j = 0; j < x.p; ++j) {
      const auto bytes = static_cast<std::uint64_t>(x.bytes(i, j));
      s.uniform = s.uniform && bytes == static_cast<std::uint64_t>(x.bytes(0, 0));
      s.max_block_bytes = std::max(s.max_block_bytes, bytes);
      sum += bytes;
    }
    s.max_rank_bytes = std::max(s.max_rank_bytes, sum);
  }
  return s;
}

/// One rank's buffers, what is in them, and what must be in them afterwards.
class rank_buffers {
 public:
  rank_buffers(const problem& x, int rank) : x_(x), rank_(rank) {
    std::mt19937 random(x.seed * 7919U + static_cast<unsigned>(rank));
    const bool w = x.kind == exchange::form::alltoallw;
    const order how = x.kind == exchange::form::alltoall || x.interleaves ? order::ranks : order::shuffled;
    std::vector<count_t> to, from;
    std::vector<const test_type*> send_types, recv_types;
    for (int j = 0; j < x.p; ++j) {
      to.push_back(x.counts[at(rank)][at(j)]);
      from.push_back(x.counts[at(j)][at(rank)]);
      const bool one_layout = x.in_place;
      send_types.push_back(one_layout ? &x.types_of(rank, j).recv : &x.types_of(rank, j).send);
      recv_types.push_back(&x.types_of(j, rank).recv);
    }
    recv_ = lay_out(from, recv_types, w, how, x.interleaves, random);
    send_ = x.in_place && x.symmetric ? recv_ : lay_out(to, send_types, w, how, x.interleaves, random);
    if (x.kind == exchange::form::alltoall) equal_steps(send_), equal_steps(recv_);
    const count_t shared = std::max(send_.end, recv_.end);
    recv_buffer_.resize(static_cast<std::size_t>(recv_.base + (x.in_place ? shared : recv_.end) + 64));
    if (!x.in_place) send_buffer_.resize(static_cast<std::size_t>(send_.base + send_.end + 64));
  }

  /// Puts data to send into the buffers, and guards everywhere else.
  void fill(int salt) {
    std::ranges::fill(recv_buffer_, guard);
    std::ranges::fill(send_buffer_, guard);
    std::vector<std::byte>& from = x_.in_place ? recv_buffer_ : send_buffer_;
    for (int j = 0; j < x_.p; ++j)
      send_.for_each_byte(j, [&](std::size_t i, count_t k) { from[i] = data_byte(rank_, j, k, salt); });
    before_ = recv_buffer_;
    sent_ = send_buffer_;
    expected_ = recv_buffer_;
    care_.assign(recv_buffer_.size(), 1);
    // In place, what was sent and is not received into is free for the library to write.
    if (x_.in_place)
      for (int j = 0; j < x_.p; ++j) send_.for_each_byte(j, [&](std::size_t i, count_t) { care_[i] = 0; });
    for (int j = 0; j < x_.p; ++j)
      recv_.for_each_byte(j, [&](std::size_t i, count_t k) {
        expected_[i] = data_byte(j, rank_, k, salt);
        care_[i] = 1;
      });
  }

  /// Bytes that are not what they must be after the exchange: data, guards, gaps, and the send buffer.
  [[nodiscard]] std::size_t wrong_bytes() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < recv_buffer_.size(); ++i) wrong += care_[i] != 0 && recv_buffer_[i] != expected_[i];
    for (std::size_t i = 0; i < send_buffer_.size(); ++i) wrong += send_buffer_[i] != sent_[i];
    return wrong;
  }

  /// True when no byte changed since fill().
  [[nodiscard]] bool untouched() const { return recv_buffer_ == before_ && send_buffer_ == sent_; }

  /// The exchange as the library gets it.
  [[nodiscard]] exchange given_to(MPI_Comm comm) {
    void* const recv = recv_buffer_.data() + recv_.base;
    void* const send = x_.in_place ? (x_.symmetric ? MPI_IN_PLACE : recv) : send_buffer_.data() + send_.base;
    const auto counts = [](const side_layout& s) { return count_view(s.counts.data()); };
    const auto displs = [](const side_layout& s) { return count_view(s.displs.data()); };
    const auto type = [](const side_layout& s) { return s.handles[0]; };
    switch (x_.kind) {
      case exchange::form::alltoall:
        return exchange::alltoall(send, send_.counts[0], type(send_), recv, recv_.counts[0], type(recv_), comm);
      case exchange::form::alltoallv:
        if (x_.in_place && !x_.symmetric)
          return exchange::alltoallv_in_place(recv, counts(send_), displs(send_), counts(recv_), displs(recv_),
                                              type(recv_), comm);
        return exchange::alltoallv(send, counts(send_), displs(send_), type(send_), recv, counts(recv_), displs(recv_),
                                   type(recv_), comm);
      case exchange::form::alltoallw:
        return exchange::alltoallw(send, counts(send_), displs(send_), send_.handles.data(), recv, counts(recv_),
                                   displs(recv_), recv_.handles.data(), comm);
    }
    return {};
  }

  [[nodiscard]] side_layout& send() { return send_; }
  [[nodiscard]] side_layout& recv() { return recv_; }
  [[nodiscard]] std::byte* send_base() { return (x_.in_place ? recv_buffer_ : send_buffer_).data() + send_.base; }
  [[nodiscard]] std::byte* recv_base() { return recv_buffer_.data() + recv_.base; }

 private:
  // MPI_Alltoall: block j at j·count elements.
  static void equal_steps(side_layout& s) {
    s.end = 0;
    for (std::size_t j = 0; j < s.counts.size(); ++j) {
      const test_type& t = *s.types[j];
      s.displs[j] = static_cast<count_t>(j) * s.counts[j];
      s.origins[j] = s.displs[j] * t.extent;
      if (s.counts[j] > 0) s.end = s.origins[j] + (s.counts[j] - 1) * t.extent + std::ranges::max(t.bytes) + 1;
    }
  }

  const problem& x_;
  int rank_;
  side_layout send_, recv_;
  std::vector<std::byte> send_buffer_, recv_buffer_, before_, sent_, expected_;
  std::vector<unsigned char> care_;
};

}  // namespace taquin::test
