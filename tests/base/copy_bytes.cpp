// Copies against the C library's, with every distance of the two addresses within a page that decides how it is done.
#include "base/copy_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace taquin::detail {
namespace {

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

TEST(copy_bytes, copies_every_byte_and_no_other_at_any_distance) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t most = 3 * page;
  std::vector<unsigned char> from(most + page);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(1 + i % 251);
  std::vector<unsigned char> to(most + 3 * page);
  const std::uintptr_t base = (address(from.data()) - address(to.data())) % page;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2047}, std::size_t{2048}, std::size_t{2049},
                              std::size_t{4096}, std::size_t{6145}, most})
    for (const std::size_t after : {0U, 1U, 16U, 31U, 32U, 33U, 64U, 2048U, 4080U, 4095U}) {
      std::ranges::fill(to, 0);
      unsigned char* const target = to.data() + base + after;
      ASSERT_EQ((address(target) - address(from.data())) % page, after);
      copy_bytes(target, from.data(), n);
      ASSERT_TRUE(std::equal(target, target + n, from.begin())) << n << " bytes, " << after;
      ASSERT_EQ(std::ranges::count(to, 0), static_cast<std::ptrdiff_t>(to.size() - n)) << n << " bytes, " << after;
    }
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace taquin::detail
