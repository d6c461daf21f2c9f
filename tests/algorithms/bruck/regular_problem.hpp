// A regular exchange for all ranks of a simulated run, with its expected outcome.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "simulation/runner.hpp"

namespace taquin::detail {

/// Every rank sends `count` elements to every rank; blocks lie `gap` elements apart.
struct regular_problem {
  int ranks = 1;
  count_t count = 1;
  element type = element::bytes(4);
  count_t gap = 0;

  [[nodiscard]] count_t block_bytes() const { return count * type.size; }
  [[nodiscard]] shape agreed() const {
    const auto bytes = static_cast<std::uint64_t>(block_bytes());
    return {.ranks = ranks,
            .kind = exchange::form::alltoall,
            .uniform = true,
            .max_block_bytes = bytes,
            .max_rank_bytes = bytes * static_cast<std::uint64_t>(ranks)};
  }
  [[nodiscard]] std::size_t buffer_bytes() const {
    return static_cast<std::size_t>((count + gap) * type.extent * ranks + type.extent);
  }
  [[nodiscard]] local_exchange local(int rank, void* send, void* recv) const {
    local_exchange x{.rank = rank, .ranks = ranks};
    x.send = {send, count_view(count, 0), count_view(0, count + gap), type.extent, type};
    x.recv = {recv, count_view(count, 0), count_view(0, count + gap), type.extent, type};
    return x;
  }

  /// Calls f(place, byte number) for each data byte of the block of `peer`.
  template <class F>
  void for_each_byte(int peer, F f) const {
    for (count_t i = 0; i < count; ++i)
      for (count_t b = 0; b < type.size; ++b)
        f(static_cast<std::size_t>((peer * (count + gap) + i) * type.extent + b), i * type.size + b);
  }
  static std::byte value(int from, int to, count_t i) {
    return static_cast<std::byte>(from * 131 + to * 29 + i * 7 + from * to + 1);
  }
};

/// Runs `a` on all ranks; returns the number of rounds with messages. Fails the test when a byte is wrong, also outside
/// the blocks.
inline std::size_t run_regular(const algorithm& a, const regular_problem& problem, const options& o, delivery how) {
  const int p = problem.ranks;
  const auto n = static_cast<std::size_t>(p);
  std::vector<std::vector<std::byte>> send(n), recv(n), expected(n);
  std::vector<std::unique_ptr<schedule>> plans;
  std::vector<simulated_rank> ranks;
  for (int r = 0; r < p; ++r) {
    const auto k = static_cast<std::size_t>(r);
    send[k].assign(problem.buffer_bytes(), std::byte{0x55});
    expected[k].assign(problem.buffer_bytes(), std::byte{0xee});
    recv[k] = expected[k];
    for (int peer = 0; peer < p; ++peer)
      problem.for_each_byte(peer, [&](std::size_t at, count_t i) {
        send[k][at] = regular_problem::value(r, peer, i);
        expected[k][at] = regular_problem::value(peer, r, i);
      });
    const auto x = problem.local(r, send[k].data(), recv[k].data());
    plans.push_back(std::make_unique<schedule>(a.build(x, problem.agreed(), o, std::pmr::new_delete_resource())));
    ranks.push_back({plans.back().get(), send[k].data(), recv[k].data()});
  }
  run_simulated(ranks, how);
  std::size_t rounds = 0;
  for (std::size_t k = 0; k < n; ++k) {
    EXPECT_EQ(recv[k], expected[k]) << a.name << " p " << p << " rank " << k;
    std::size_t with_messages = 0;
    std::uint32_t before = 0;
    for (const round& r : plans[k]->rounds) {
      if (r.messages_end > before) ++with_messages;
      before = r.messages_end;
    }
    rounds = std::max(rounds, with_messages);
  }
  return rounds;
}

}  // namespace taquin::detail
