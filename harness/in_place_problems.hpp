// Random and extreme problems for the in-place algorithms, and buffers to run them on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/in_place/problem.hpp"
#include "base/sizes.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// The units that each rank sends to each, and where the blocks lie in each rank's buffer.
struct in_place_problem {
  int ranks = 1;
  std::vector<std::vector<count_t>> counts;  ///< [from][to]
  std::vector<std::vector<peer_block>> out;  ///< per rank, in order of peer, empty blocks left out
  std::vector<std::vector<peer_block>> in;   ///< per rank, in order of location
  std::vector<count_t> sizes;                ///< units of each rank's buffer
};

/// How blocks are laid out.
struct layout_style {
  bool permuted = false;   ///< blocks in random order, not by rank
  count_t most_gap = 0;    ///< up to so many units between two blocks
  count_t most_start = 0;  ///< up to so many units before the first
};

inline in_place_problem make_problem(std::vector<std::vector<count_t>> counts, const layout_style& style,
                                     unsigned seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](count_t most) {
    return most == 0 ? 0 : static_cast<count_t>(random() % static_cast<unsigned>(most + 1));
  };
  in_place_problem p;
  p.ranks = static_cast<int>(counts.size());
  p.counts = std::move(counts);
  const auto n = p.counts.size();
  const auto lay = [&](auto count_of) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    if (style.permuted) std::shuffle(order.begin(), order.end(), random);
    std::vector<peer_block> blocks;
    count_t at = 1 + up_to(style.most_start);
    for (const int peer : order) {
      const count_t length = count_of(as_size(peer));
      if (length > 0) blocks.push_back({at, length, peer});
      at += length + up_to(style.most_gap);
    }
    return blocks;
  };
  const auto end = [](const std::vector<peer_block>& blocks) {
    return blocks.empty() ? 1 : blocks.back().at + blocks.back().length;
  };
  for (std::size_t r = 0; r < n; ++r) {
    auto out = lay([&](std::size_t peer) { return p.counts[r][peer]; });
    auto in = lay([&](std::size_t peer) { return p.counts[peer][r]; });
    p.sizes.push_back(std::max(end(out), end(in)) + 1);
    std::ranges::sort(out, {}, &peer_block::peer);
    p.out.push_back(std::move(out));
    p.in.push_back(std::move(in));
  }
  return p;
}

/// The buffers of all ranks before and after. Every unit outside the receive blocks must stay as it was: guard units,
/// gaps, and what is only sent.
struct in_place_buffers {
  std::vector<std::vector<std::byte>> before, expected;

  in_place_buffers(const in_place_problem& p, const element& unit) {
    for (int r = 0; r < p.ranks; ++r) {
      auto& bytes = before.emplace_back(as_size(p.sizes[as_size(r)] * unit.extent));
      std::mt19937 random(static_cast<unsigned>(r));
      for (auto& b : bytes) b = static_cast<std::byte>(random());
    }
    expected = before;
    for (std::size_t r = 0; r < before.size(); ++r)
      for (const peer_block& to : p.in[r]) {
        const auto& theirs = p.out[as_size(to.peer)];
        const auto from = std::ranges::find(theirs, static_cast<int>(r), &peer_block::peer);
        for (count_t i = 0; i < to.length; ++i)
          std::copy_n(before[as_size(to.peer)].begin() + (from->at + i) * unit.extent, unit.size,
                      expected[r].begin() + (to.at + i) * unit.extent);
      }
  }
};

/// Copies from `work` the units that only send blocks cover, since they may hold anything.
inline void forget_sent(const in_place_problem& problem, std::size_t rank, const element& unit,
                        const std::vector<std::byte>& work, std::vector<std::byte>& expected) {
  const auto received = [&](count_t at) {
    return std::ranges::any_of(problem.in[rank],
                               [&](const peer_block& b) { return b.at <= at && at < b.at + b.length; });
  };
  for (const peer_block& b : problem.out[rank])
    for (count_t at = b.at; at < b.at + b.length; ++at)
      if (!received(at)) std::copy_n(work.begin() + at * unit.extent, unit.size, expected.begin() + at * unit.extent);
}

}  // namespace taquin::detail
