// The memory that grouping declares, against what it allocates.
#include "layouts/grouping.hpp"

#include <gtest/gtest.h>

#include "base/memory_budget.hpp"

namespace taquin::detail {
namespace {

TEST(grouping, takes_the_bytes_that_it_declares) {
  for (const std::size_t streams : {1, 2, 7, 100})
    for (const std::size_t page : {64, 1024, 4096})
      for (const std::size_t most : {std::size_t{0}, page - 1, 100 * page, 10000 * page + 1})
        for (const bool whole : {false, true}) {
          memory_budget memory;
          { const grouping made(streams, page, most, &memory, whole); }
          const std::size_t declared = grouping::bytes(streams, page, most, whole);
          EXPECT_LE(memory.peak(), declared) << streams << ' ' << page << ' ' << most << ' ' << whole;
          EXPECT_GE(memory.peak() + 64, declared) << streams << ' ' << page << ' ' << most << ' ' << whole;
        }
}

TEST(grouping, has_the_largest_pages_that_the_memory_allows) {
  for (const std::size_t streams : {1, 7, 100})
    for (const std::size_t most : {1000, 1000000, 100000000}) {
      const std::size_t least = grouping::page_for(streams, most, 0);
      EXPECT_EQ(least % 64, 0U);
      EXPECT_LE(grouping::bytes(streams, least, most), grouping::bytes(streams, 2 * least, most) + 64 * (streams + 1))
          << "of all powers of two it needs the least memory";
      std::size_t before = least;
      for (std::size_t space = 1000; space < 100000000; space *= 2) {
        const std::size_t page = grouping::page_for(streams, most, space);
        EXPECT_GE(page, before);
        if (page > least) {
          EXPECT_LE(grouping::bytes(streams, page, most), space);
        }
        before = page;
      }
      if (least <= 4096) {
        EXPECT_GT(before, least);
      }
    }
}

TEST(grouping, has_whole_pages_of_a_kilobyte_or_more_that_divide_the_runs) {
  const auto page = [](std::size_t run) { return grouping::whole_page_for(4, 1000000, 100000000, run); };
  EXPECT_EQ(page(0), 0U);
  EXPECT_EQ(page(1000), 0U) << "too small";
  EXPECT_EQ(page(1024), 1024U);
  EXPECT_EQ(page(16384), 16384U);
  EXPECT_EQ(page(16385), 3277U) << "a fifth";
  EXPECT_EQ(page(3 * 16384), 16384U);
  EXPECT_EQ(page(17 * 1021), 0U) << "its largest factor below 16 KiB has no kilobyte";
  EXPECT_EQ(grouping::whole_page_for(4, 1000000, 0, 16384), 2048U) << "the one that needs least memory";
}

}  // namespace
}  // namespace taquin::detail
