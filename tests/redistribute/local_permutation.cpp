// The local sorts of a migration: elements of any size, in the memory that is declared, each copied as often as stated.
#include "redistribute/local_permutation.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {
namespace {

int some(int least, int most) { return *rc::gen::inRange(least, most + 1); }

// Element k of `bytes` bytes, of which each depends on k.
std::vector<std::byte> elements(const std::vector<int>& order, std::size_t bytes) {
  std::vector<std::byte> all(order.size() * bytes);
  for (std::size_t k = 0; k < order.size(); ++k)
    for (std::size_t i = 0; i < bytes; ++i)
      all[k * bytes + i] = static_cast<std::byte>(as_size(order[k]) * 37 + i * 11 + as_size(order[k]) / 256);
  return all;
}

std::vector<int> in_order(std::size_t n) {
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

RC_GTEST_PROP(local_permutation, brings_elements_to_their_places_by_parts_and_back, ()) {
  const auto n = as_size(some(0, 60));
  const auto bytes = as_size(some(1, 140));
  std::vector<int> position = in_order(n);
  std::shuffle(position.begin(), position.end(), std::mt19937(static_cast<unsigned>(some(0, 1000000))));
  std::vector<int> complemented(n);
  std::ranges::transform(position, complemented.begin(), [](int k) { return ~k; });
  std::vector<int> order(n);
  for (std::size_t k = 0; k < n; ++k) order[as_size(position[k])] = static_cast<int>(k);
  std::vector<std::byte> buffer(as_size(some(1, static_cast<int>(bytes))));
  const std::size_t parts = (bytes + buffer.size() - 1) / buffer.size();
  const auto stay =
      as_size(static_cast<int>(std::ranges::count_if(in_order(n), [&](int k) { return position[as_size(k)] == k; })));
  std::vector<int> given = position;
  for (int time = 0; time < 2; ++time) {  // of two arrays, one after the other
    std::vector<std::byte> data = elements(in_order(n), bytes);
    RC_ASSERT(permute(data.data(), bytes, given, buffer) == (n - stay) * bytes);
    RC_ASSERT(data == elements(order, bytes));
    RC_ASSERT(given == (parts * as_size(time + 1) % 2 == 1 ? complemented : position));
  }
}

RC_GTEST_PROP(local_permutation, partitions_stably_in_the_memory_that_it_declares, ()) {
  const auto n = as_size(some(1, 5000));
  const auto bytes = as_size(*rc::gen::element(1, 3, 4, 8, 16, 24, 32, 56, 64, 100, 2000));
  const auto ranks = as_size(some(1, 9));
  const auto space = as_size(some(1, 200000));
  const std::size_t block = partition_buffers::block_length(n, bytes, ranks, space);
  if (block == 0) return;
  std::mt19937 random(static_cast<unsigned>(some(0, 1000000)));
  std::vector<int> to(n);
  std::vector<std::int64_t> counts(ranks, 0), starts(ranks, 0);
  const auto used = std::uniform_int_distribution<int>(1, static_cast<int>(ranks))(random);
  for (int& r : to) ++counts[as_size(r = std::uniform_int_distribution<int>(0, used - 1)(random))];
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), std::int64_t{0});
  std::vector<int> order = in_order(n);
  std::ranges::stable_sort(order, {}, [&](int k) { return to[as_size(k)]; });
  std::vector<std::byte> data = elements(in_order(n), bytes);
  memory_budget memory(space);
  const std::size_t copied =
      partition_buffers(n, bytes, ranks, block, &memory).partition(data.data(), to, counts, starts);
  RC_ASSERT(data == elements(order, bytes));
  RC_ASSERT(copied >= 2 * n * bytes);
  RC_ASSERT((copied - 2 * n * bytes) % (block * bytes) == 0U);
  RC_ASSERT(copied <= 3 * n * bytes + n / 2 * bytes);  // a cycle of two blocks has a third copy
}

}  // namespace
}  // namespace taquin::detail
