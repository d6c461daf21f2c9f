// Arithmetic that says when it does not fit.
#include "base/checked.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace taquin::test {
namespace {

using detail::checked;
constexpr count_t largest = std::numeric_limits<count_t>::max();

TEST(checked_numbers, fit_up_to_the_limit_on_either_side) {
  EXPECT_TRUE(checked(detail::most_bytes).fits());
  EXPECT_TRUE(checked(-detail::most_bytes).fits());
  EXPECT_FALSE((checked(detail::most_bytes) + 1).fits());
  EXPECT_FALSE((checked(-detail::most_bytes) + -1).fits());
}

TEST(checked_numbers, have_their_value_where_they_fit) {
  EXPECT_EQ((checked(3) * 5 + -7).value(), 8);
  EXPECT_EQ((checked(count_t{1} << 30) * (count_t{1} << 25)).value(), count_t{1} << 55);
}

// Sums and products that come round to a small number are no small numbers.
TEST(checked_numbers, stay_over_the_limit_whatever_follows) {
  const checked product = checked(count_t{1} << 62) * 4;
  const checked sum = checked(largest) + 1;
  for (const checked& over : {product, sum}) {
    EXPECT_FALSE(over.fits());
    EXPECT_FALSE((over * 0).fits());
    EXPECT_FALSE((over + -largest).fits());
    EXPECT_FALSE((checked(1) + over).fits());
  }
}

}  // namespace
}  // namespace taquin::test
