// Copies by the kernel, out of this process itself, with every distance within a page that decides how they are done.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "node/single_copy.hpp"

namespace taquin::detail {
namespace {

constexpr std::size_t page_bytes = 4096;

class single_copies : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < from_.size(); ++i) from_[i] = static_cast<unsigned char>(1 + i % 251);
    unsigned char one = 0;
    if (single_copy(getpid(), address(0), &one, 1) != 0) GTEST_SKIP() << "the kernel does not permit it";
  }
  [[nodiscard]] std::uint64_t address(std::size_t place) const {
    return reinterpret_cast<std::uint64_t>(from_.data() + place);
  }
  // As far behind the source within a page.
  [[nodiscard]] std::size_t place_for(std::size_t after) const {
    return (address(0) - reinterpret_cast<std::uint64_t>(to_.data())) % page_bytes + after;
  }
  // The bytes at `place` came, and no others were written.
  void expect_arrived(std::size_t place, std::size_t n) {
    EXPECT_TRUE(std::equal(to_.begin() + static_cast<std::ptrdiff_t>(place),
                           to_.begin() + static_cast<std::ptrdiff_t>(place + n), from_.begin()));
    EXPECT_EQ(std::ranges::count(to_, 0), static_cast<std::ptrdiff_t>(to_.size() - n));
  }

  static constexpr std::size_t most = 10 * page_bytes + 100;
  std::vector<unsigned char> from_ = std::vector<unsigned char>(most);
  std::vector<unsigned char> to_ = std::vector<unsigned char>(most + 3 * page_bytes);
};

TEST_F(single_copies, are_whole_at_any_distance) {
  for (const std::size_t after : {0U, 1U, 16U, 31U, 32U, 100U, 4095U})
    for (const std::size_t n : {std::size_t{2048}, std::size_t{2049}, 4 * page_bytes, 4 * page_bytes + 1, most}) {
      SCOPED_TRACE(std::to_string(n) + " bytes, " + std::to_string(after) + " after");
      std::ranges::fill(to_, 0);
      ASSERT_EQ(single_copy(getpid(), address(0), to_.data() + place_for(after), n), 0);
      expect_arrived(place_for(after), n);
    }
}

TEST_F(single_copies, of_several_parts_are_whole) {
  std::ranges::fill(to_, 0);
  std::vector<remote_part> parts;
  for (std::size_t done = 0; done < most; done += 3000)
    parts.push_back({address(done), to_.data() + place_for(16) + done, std::min<std::size_t>(3000, most - done)});
  ASSERT_EQ(single_copy(getpid(), parts), 0);
  expect_arrived(place_for(16), most);
}

TEST_F(single_copies, of_memory_that_is_not_there_fail) {
  for (const std::size_t after : {16U, 100U}) {
    const std::uint64_t nowhere = address(0) % page_bytes;  // in the first page, which no process has
    EXPECT_NE(single_copy(getpid(), nowhere, to_.data() + place_for(after), most), 0);
  }
}

}  // namespace
}  // namespace taquin::detail
