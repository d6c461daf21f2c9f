// Blocks of a process's memory for its node: whose they are, when they are used again, and what the system gets back.
// Other processes' views of them are made by the same process, by way of the same file.
#include "node/arena.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace taquin::detail {
namespace {

constexpr std::size_t most_in_least = arena::least_segment - arena::header;

/// Bytes of a segment's pages that the system has allocated.
std::size_t allocated(const arena_place& where) {
  struct stat s {};
  EXPECT_EQ(fstat(where.segment.file, &s), 0);
  return static_cast<std::size_t>(s.st_blocks) * 512;
}

class arena_blocks : public ::testing::Test {
 protected:
  // Tests have arenas of their own, which stay, as those of processes do.
  arena& all_ = *new arena;
  arena& other_ = *new arena;  // another process
  arena_place where_;
};

TEST_F(arena_blocks, are_seen_by_others_with_what_is_written) {
  std::byte* const mine = all_.allocate(1000, 1, where_);
  ASSERT_NE(mine, nullptr);
  std::fill_n(mine, 1000, std::byte{7});
  std::byte* const theirs = other_.attach(where_);
  ASSERT_NE(theirs, nullptr);
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(std::count(theirs, theirs + 1000, std::byte{7}), 1000);
  theirs[3] = std::byte{9};
  EXPECT_EQ(mine[3], std::byte{9});
}

TEST_F(arena_blocks, are_used_again_when_all_have_left_them_and_not_before) {
  for (const bool owner_first : {true, false}) {
    std::byte* const mine = all_.allocate(5000, 2, where_);
    std::byte* const second = other_.attach(where_);
    arena& third = *new arena;
    std::byte* const third_view = third.attach(where_);
    if (owner_first) all_.leave(mine);
    arena_place elsewhere;
    const auto not_yet = [&] {
      std::byte* const other = all_.allocate(5000, 0, elsewhere);
      EXPECT_NE(other, mine);
      all_.leave(other);
    };
    not_yet();
    other_.leave(second);
    not_yet();
    third.leave(third_view);
    if (!owner_first) {
      not_yet();
      all_.leave(mine);
    }
    EXPECT_EQ(all_.allocate(5000, 0, elsewhere), mine);
    all_.leave(mine);
  }
}

TEST_F(arena_blocks, that_nobody_has_used_are_free_at_once) {
  std::byte* const mine = all_.allocate(5000, 7, where_);
  std::byte* const theirs = other_.attach(where_);
  other_.take_back(theirs);
  all_.take_back(mine);
  EXPECT_EQ(all_.allocate(5000, 7, where_), mine);
}

TEST_F(arena_blocks, of_one_process_are_in_one_segment_that_others_map_once) {
  arena_place first;
  std::byte* const mine = all_.allocate(100, 1, first);
  std::byte* const next = all_.allocate(100, 1, where_);
  EXPECT_EQ(first.segment.token, where_.segment.token);
  EXPECT_EQ(next - mine, other_.attach(where_) - other_.attach(first));
}

TEST_F(arena_blocks, that_do_not_fit_get_another_segment) {
  arena_place first;
  ASSERT_NE(all_.allocate(most_in_least / 2, 1, first), nullptr);
  std::byte* const mine = all_.allocate(most_in_least, 1, where_);
  ASSERT_NE(mine, nullptr);
  EXPECT_NE(first.segment.token, where_.segment.token);
  std::fill_n(mine, most_in_least, std::byte{1});
  ASSERT_NE(other_.attach(where_), nullptr);
  ASSERT_NE(all_.allocate(2 * arena::most_segment, 0, where_), nullptr);
  EXPECT_GE(where_.segment.bytes, 2 * arena::most_segment);
}

// Random blocks never overlap, and what is in them stays.
TEST_F(arena_blocks, do_not_overlap) {
  std::mt19937 random(3);
  struct held {
    std::byte* at;
    std::size_t bytes;
    std::byte mark;
  };
  std::vector<held> used;
  for (int i = 0; i < 2000; ++i) {
    if (!used.empty() && random() % 2 == 0) {
      const std::size_t n = random() % used.size();
      const held h = used[n];
      ASSERT_EQ(std::count(h.at, h.at + h.bytes, h.mark), static_cast<std::ptrdiff_t>(h.bytes)) << "step " << i;
      all_.leave(h.at);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(n));
      continue;
    }
    const std::size_t bytes = 1 + random() % (std::size_t{1} << (random() % 18));
    std::byte* const at = all_.allocate(bytes, 0, where_);
    ASSERT_NE(at, nullptr);
    used.push_back({at, bytes, static_cast<std::byte>(i)});
    std::fill_n(at, bytes, used.back().mark);
  }
}

// Neighbours that are free become one block again.
TEST_F(arena_blocks, that_are_free_join_their_neighbours) {
  constexpr std::size_t quarter = most_in_least / 4 - arena::header;
  std::vector<std::byte*> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(all_.allocate(quarter, 0, where_));
  const std::uint64_t segment = where_.segment.token;
  for (const int i : {1, 3, 0, 2}) all_.leave(parts[static_cast<std::size_t>(i)]);
  ASSERT_EQ(all_.allocate(4 * quarter, 0, where_), parts[0]);
  EXPECT_EQ(where_.segment.token, segment);
}

TEST_F(arena_blocks, keep_few_pages_when_they_are_free) {
  std::byte* const small = all_.allocate(arena::most_kept / 2, 0, where_);
  all_.leave(small);
  EXPECT_GE(allocated(where_), arena::most_kept / 2);
  EXPECT_LE(allocated(where_), arena::most_kept);
  std::byte* const large = all_.allocate(4 * arena::most_kept, 0, where_);
  EXPECT_GE(allocated(where_), 4 * arena::most_kept);
  all_.leave(large);
  EXPECT_LE(allocated(where_), arena::most_kept);
  EXPECT_EQ(all_.allocate(4 * arena::most_kept, 0, where_), large);
  std::fill_n(large, 4 * arena::most_kept, std::byte{5});
}

// A limit on files sends a signal to a process that exceeds it, which would end it.
TEST_F(arena_blocks, are_refused_where_the_process_may_have_no_such_file) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 64 << 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_EQ(all_.allocate(100000, 0, where_), nullptr);
  EXPECT_TRUE(where_.empty());
  EXPECT_NE(all_.allocate(10000, 0, where_), nullptr) << "a segment for it alone";
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(all_.allocate(100000, 0, where_), nullptr);
}

TEST_F(arena_blocks, of_a_process_that_is_not_there_cannot_be_reached) {
  ASSERT_NE(all_.allocate(100, 1, where_), nullptr);
  arena_place wrong = where_;
  ++wrong.segment.token;
  EXPECT_EQ(other_.attach(wrong), nullptr);
  wrong = where_;
  wrong.segment.file = 1000000;
  EXPECT_EQ(other_.attach({}), nullptr);
  wrong.segment.token += 2;
  EXPECT_EQ(other_.attach(wrong), nullptr);
  EXPECT_NE(other_.attach(where_), nullptr);
}

TEST(arena_parts, have_a_place_for_each_rank) {
  constexpr int ranks = 3;
  std::vector<arena_parts> of;
  std::vector<arena_place> places(ranks);
  for (int r = 0; r < ranks; ++r) {
    of.push_back(arena_parts::make(r, ranks, 4096, places[static_cast<std::size_t>(r)]));
    ASSERT_FALSE(of.back().empty());
    std::fill_n(of.back()[r], 4096, static_cast<std::byte>(r + 1));
  }
  for (int r = 0; r < ranks; ++r)
    for (int other = 0; other < ranks; ++other) {
      EXPECT_TRUE(other == r || of[static_cast<std::size_t>(r)].attach(other, places[static_cast<std::size_t>(other)]));
      const std::byte* const part = of[static_cast<std::size_t>(r)][other];
      EXPECT_EQ(std::count(part, part + 4096, static_cast<std::byte>(other + 1)), 4096);
    }
  arena_parts moved = std::move(of.front());
  EXPECT_TRUE(of.front().empty());
  EXPECT_EQ(moved[1][0], std::byte{2});
}

}  // namespace
}  // namespace taquin::detail
