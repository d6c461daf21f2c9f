#include "harness/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace taquin::harness {
namespace {

TEST(pattern, a_block_is_right_where_it_belongs_and_nowhere_else) {
  for (const std::size_t size : {1U, 7U, 8U, 9U, 1000U}) {
    std::vector<std::byte> block(size);
    write_pattern(block, 3, 5);
    EXPECT_EQ(wrong_in_pattern(block, 3, 5), 0);
    for (const auto& [from, to] : {std::pair{5, 3}, {3, 4}, {2, 5}})
      EXPECT_GT(wrong_in_pattern(block, from, to), static_cast<count_t>(size * 9 / 10)) << from << to << size;
  }
}

TEST(pattern, counts_each_wrong_byte) {
  std::vector<std::byte> block(100);
  write_pattern(block, 0, 0);
  for (const std::size_t i : {0U, 50U, 99U}) block[i] ^= std::byte{1};
  EXPECT_EQ(wrong_in_pattern(block, 0, 0), 3);
}

TEST(pattern, a_shifted_block_is_wrong) {
  std::vector<std::byte> block(1000);
  write_pattern(block, 1, 2);
  for (const int by : {1, 8, 64}) {
    auto shifted = block;
    std::rotate(shifted.begin(), shifted.begin() + by, shifted.end());
    EXPECT_GT(wrong_in_pattern(shifted, 1, 2), 900) << by;
  }
}

TEST(pattern, a_written_guard_is_counted) {
  std::vector<std::byte> guard(16, poison);
  EXPECT_EQ(wrong_in_guard(guard), 0);
  guard[3] = std::byte{0};
  EXPECT_EQ(wrong_in_guard(guard), 1);
}

}  // namespace
}  // namespace taquin::harness
