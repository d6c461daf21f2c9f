#include "harness/block_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/sizes.hpp"
#include "harness/errors.hpp"

namespace taquin::harness {

namespace {

block_map_of_rank dead(count_t blocks) {
  const auto n = detail::as_size(blocks);
  return {std::vector<int>(n, -1), std::vector<int>(n, 0)};
}

void put(block_map_of_rank& map, count_t block, count_t rank, count_t index) {
  map.ranks[detail::as_size(block)] = static_cast<int>(rank);
  map.indices[detail::as_size(block)] = static_cast<int>(index);
}

block_map_of_rank shift(int rank, int ranks, count_t blocks, count_t live, std::uint64_t) {
  auto map = dead(blocks);
  for (count_t k = 0; k < live; ++k) put(map, k, (rank + 1) % ranks, k);
  return map;
}

block_map_of_rank transpose(int rank, int ranks, count_t blocks, count_t live, std::uint64_t) {
  auto map = dead(blocks);
  for (count_t k = 0; k < live; ++k) put(map, k, (live * rank + k) % ranks, (live * rank + k) / ranks);
  return map;
}

// Rank 0 is empty; block k of another goes to the others in turn, as long as there is one for each of them.
block_map_of_rank one_empty(int rank, int ranks, count_t blocks, count_t, std::uint64_t) {
  auto map = dead(blocks);
  if (rank == 0 || ranks == 1) return map;
  const count_t others = ranks - 1;
  const count_t share = blocks / others;
  for (count_t k = 0; k < share * others; ++k) {
    const count_t position = k % others;
    const count_t to = position < rank ? position : position + 1;
    const count_t before = rank - 1 - (to != 0 && to < rank ? 1 : 0);  // ranks that send there before this one
    put(map, k, to, before * share + k / others);
  }
  return map;
}

block_map_of_rank one_cycle(int rank, int ranks, count_t blocks, count_t, std::uint64_t) {
  auto map = dead(blocks);
  const bool last = rank + 1 == ranks;
  for (count_t k = 0; k < blocks; ++k) put(map, k, last ? 0 : rank + 1, last ? (k + 1) % blocks : k);
  return map;
}

// A pseudo-random permutation of 0 … n−1: four Feistel rounds on the next even power of two, repeated until inside.
class permutation {
 public:
  permutation(std::uint64_t n, std::uint64_t seed)
      : n_(n), half_(std::max(1, (static_cast<int>(std::bit_width(n - 1)) + 1) / 2)), seed_(seed) {}
  std::uint64_t operator()(std::uint64_t x) const {
    do x = once(x);
    while (x >= n_);
    return x;
  }

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = x >> half_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      std::uint64_t h = (right + seed_ * 4 + round + 1) * 0x9e3779b97f4a7c15ULL;
      h = (h ^ (h >> 31U)) * 0xbf58476d1ce4e5b9ULL;
      left ^= (h >> 29U) & mask;
      std::swap(left, right);
    }
    return left << half_ | right;
  }
  std::uint64_t n_;
  int half_;
  std::uint64_t seed_;
};

// `live` blocks on average per rank, anywhere, to anywhere.
block_map_of_rank random(int rank, int ranks, count_t blocks, count_t live, std::uint64_t seed) {
  auto map = dead(blocks);
  const auto n = static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(ranks);
  const permutation pick(n, 2 * seed);
  const permutation place(n, 2 * seed + 1);
  for (count_t k = 0; k < blocks; ++k) {
    const std::uint64_t order = pick(static_cast<std::uint64_t>(rank * blocks + k));
    if (order >= static_cast<std::uint64_t>(live) * static_cast<std::uint64_t>(ranks)) continue;
    const auto to = static_cast<count_t>(place(order));
    put(map, k, to / blocks, to % blocks);
  }
  return map;
}

constexpr std::array workloads{
    block_workload{"shift", "every rank sends its blocks to the next, to the same indices (experiments 1 to 3)", shift},
    block_workload{"transpose", "block k of rank i goes to the place (live*i + k) of a cyclic order (experiment 5)",
                   transpose},
    block_workload{"one_empty", "rank 0 is empty, the others are full and send to all in turn (experiment 4)",
                   one_empty, false},
    block_workload{"one_cycle", "a permutation that is one cycle through all places of all ranks", one_cycle, false},
    block_workload{"random", "random blocks go to random places", random},
};

}  // namespace

const block_workload& find_block_workload(const std::string& name) {
  const auto found = std::ranges::find_if(workloads, [&](const auto& w) { return name == w.name; });
  if (found != workloads.end()) return *found;
  std::string known;
  for (const auto& w : workloads) known += fmt::format("{}{}", known.empty() ? "" : ", ", w.name);
  throw usage(fmt::format("unknown block workload '{}'; known are {}", name, known));
}

const block_workload& find_block_workload(const std::string& name, count_t blocks, count_t free) {
  const block_workload& found = find_block_workload(name);
  if (free < 0 || free > blocks) throw usage(fmt::format("--free {} of {} blocks", free, blocks));
  if (free > 0 && !found.any_live)
    throw usage(fmt::format("--free {}: the workload {} itself specifies the free blocks", free, name));
  return found;
}

std::string block_workload_help() {
  std::string text = "Workloads:\n";
  for (const auto& w : workloads) text += fmt::format("  {:<12}{}\n", w.name, w.summary);
  return text;
}

}  // namespace taquin::harness
