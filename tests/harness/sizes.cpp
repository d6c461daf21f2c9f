#include "harness/sizes.hpp"

#include <gtest/gtest.h>

#include "harness/errors.hpp"

namespace taquin::harness {
namespace {

TEST(sizes, units_are_powers_of_1024) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("64"), 64);
  EXPECT_EQ(parse_size("4K"), 4096);
  EXPECT_EQ(parse_size("4k"), 4096);
  EXPECT_EQ(parse_size("50M"), 50 << 20);
  EXPECT_EQ(parse_size("3GiB"), count_t{3} << 30);
  EXPECT_EQ(parse_size("7B"), 7);
}

TEST(sizes, what_is_no_size_is_refused) {
  for (const char* text : {"", "K", "-1", "4Q", "4KK", "4 K", "9223372036854775808", "9000000T", "1.5K"})
    EXPECT_THROW(parse_size(text), usage) << text;
}

TEST(sizes, double_within_a_range) {
  EXPECT_EQ(parse_sizes("4K"), std::vector<count_t>{4096});
  EXPECT_EQ(parse_sizes("8..64"), (std::vector<count_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_sizes("3..20"), (std::vector<count_t>{3, 6, 12}));
  EXPECT_EQ(parse_sizes("5..5"), std::vector<count_t>{5});
  for (const char* text : {"0..8", "8..4", "..4", "4.."}) EXPECT_THROW(parse_sizes(text), usage) << text;
}

TEST(sizes, memory_is_bytes_or_a_part) {
  EXPECT_EQ(memory_choice::parse("unlimited").limit(1000), unlimited);
  EXPECT_EQ(memory_choice::parse("4K").limit(1000), 4096U);
  EXPECT_EQ(memory_choice::parse("2.5%").limit(1000), 25U);
  EXPECT_EQ(memory_choice::parse("0").limit(1000), 0U);
  for (const char* text : {"%", "-1%", "x%", "nan%", "1%%"}) EXPECT_THROW(memory_choice::parse(text), usage) << text;
}

TEST(sizes, are_shown_with_units_of_powers_of_1024) {
  EXPECT_EQ(show_size(0), "0 B");
  EXPECT_EQ(show_size(64), "64 B");
  EXPECT_EQ(show_size(1023), "1023 B");
  EXPECT_EQ(show_size(4096), "4 KiB");
  EXPECT_EQ(show_size(1536), "1.50 KiB");
  EXPECT_EQ(show_size(50 << 20), "50 MiB");
  EXPECT_EQ(show_size((count_t{12} << 40) + (count_t{1} << 39)), "12.5 TiB");
}

TEST(sizes, times_are_shown_in_the_unit_that_fits) {
  EXPECT_EQ(show_seconds(2.5e-7), "0.25 µs");
  EXPECT_EQ(show_seconds(1.25e-3), "1.250 ms");
  EXPECT_EQ(show_seconds(3), "3.000 s");
}

}  // namespace
}  // namespace taquin::harness
