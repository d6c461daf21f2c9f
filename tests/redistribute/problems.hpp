// Redistribution problems for all ranks together, seeded, so that every rank makes the same one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace taquin::test {

/// For one rank: where each of its blocks goes; rank −1 for dead ones.
struct rank_map {
  int blocks = 0;
  std::vector<int> ranks;
  std::vector<int> indices;
};
using block_problem = std::vector<rank_map>;

/// Random map: `live` of every 100 blocks are moved to random places of random ranks, the others are dead, anywhere.
inline block_problem random_problem(const std::vector<int>& sizes, int live, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<int, int>> places;
  block_problem all(sizes.size());
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    all[r].blocks = sizes[r];
    for (int i = 0; i < sizes[r]; ++i) places.emplace_back(static_cast<int>(r), i);
  }
  auto targets = places;
  std::ranges::shuffle(places, random);
  std::ranges::shuffle(targets, random);
  for (auto& m : all) {
    m.ranks.assign(static_cast<std::size_t>(m.blocks), -1);
    m.indices.assign(static_cast<std::size_t>(m.blocks), -7);  // does not matter
  }
  const std::size_t n = places.size() * static_cast<std::size_t>(live) / 100;
  for (std::size_t k = 0; k < n; ++k) {
    auto& m = all[static_cast<std::size_t>(places[k].first)];
    m.ranks[static_cast<std::size_t>(places[k].second)] = targets[k].first;
    m.indices[static_cast<std::size_t>(places[k].second)] = targets[k].second;
  }
  return all;
}

/// A permutation that is one cycle through all places of all ranks, hopping from rank to rank.
inline block_problem one_cycle(int ranks, int blocks) {
  block_problem all(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    auto& m = all[static_cast<std::size_t>(r)];
    m.blocks = blocks;
    for (int i = 0; i < blocks; ++i) {
      const bool wrap = r + 1 == ranks;
      m.ranks.push_back(wrap ? 0 : r + 1);
      m.indices.push_back(wrap ? (i + 1) % blocks : i);
    }
  }
  return all;
}

/// Every rank sends `live` blocks to the next, to the same index.
inline block_problem shift_problem(int ranks, int blocks, int live) {
  block_problem all(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    auto& m = all[static_cast<std::size_t>(r)];
    m.blocks = blocks;
    for (int i = 0; i < blocks; ++i) {
      m.ranks.push_back(i < live ? (r + 1) % ranks : -1);
      m.indices.push_back(i);
    }
  }
  return all;
}

/// Block j of rank i goes to (live·i + j) mod ranks, index (live·i + j) / ranks.
inline block_problem transpose_problem(int ranks, int blocks, int live) {
  block_problem all(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    auto& m = all[static_cast<std::size_t>(r)];
    m.blocks = blocks;
    for (int i = 0; i < blocks; ++i) {
      m.ranks.push_back(i < live ? (live * r + i) % ranks : -1);
      m.indices.push_back((live * r + i) / ranks);
    }
  }
  return all;
}

/// Rank 0 is empty, the others are full and send equal parts to all other ranks.
inline block_problem one_empty_problem(int ranks, int blocks) {
  block_problem all(static_cast<std::size_t>(ranks));
  std::vector<int> used(static_cast<std::size_t>(ranks), 0);
  for (int r = 0; r < ranks; ++r) {
    auto& m = all[static_cast<std::size_t>(r)];
    m.blocks = blocks;
    m.ranks.assign(static_cast<std::size_t>(blocks), -1);
    m.indices.assign(static_cast<std::size_t>(blocks), 0);
    for (int i = 0; r > 0 && i < blocks; ++i) {
      int to = i % ranks == r ? (r + 1) % ranks : i % ranks;
      while (used[static_cast<std::size_t>(to)] == blocks) to = (to + 1) % ranks;
      m.ranks[static_cast<std::size_t>(i)] = to;
      m.indices[static_cast<std::size_t>(i)] = used[static_cast<std::size_t>(to)]++;
    }
  }
  return all;
}

/// The content of a block before it moves: different for any two blocks, bytes and all.
inline std::uint64_t identity(int rank, int block) {
  return (static_cast<std::uint64_t>(rank) << 32U | static_cast<std::uint32_t>(block)) * 0x9e3779b97f4a7c15ULL + 1;
}

/// The identities that a rank must hold afterwards, 0 where nothing goes.
inline std::vector<std::uint64_t> expected(const block_problem& all, int rank) {
  std::vector<std::uint64_t> want(static_cast<std::size_t>(all[static_cast<std::size_t>(rank)].blocks), 0);
  for (std::size_t r = 0; r < all.size(); ++r)
    for (std::size_t k = 0; k < all[r].ranks.size(); ++k)
      if (all[r].ranks[k] == rank)
        want[static_cast<std::size_t>(all[r].indices[k])] = identity(static_cast<int>(r), static_cast<int>(k));
  return want;
}

}  // namespace taquin::test
