// The blocks of a rank for others in a step among nodes: a record, runs, and blocks in them.
#include "node/run_list.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace taquin::test {
namespace {

using detail::block_run;
using detail::run_list;

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::byte* put(std::byte* at, std::string_view what) {
  std::memcpy(at, what.data(), what.size());
  return at + what.size();
}

TEST(a_run_list, has_a_record_and_runs_of_any_length) {
  std::vector<std::byte> memory(run_list::head(3) + 100);
  const run_list all(memory.data(), 3);
  run_list::record mine{};
  mine[7] = std::byte{42};
  all.put(mine);
  all.begin();
  std::byte* at = put(all.first(), "one");
  all.end(0, at);
  all.end(1, at);  // nothing
  at = put(at, "three");
  all.end(2, at);
  EXPECT_EQ(all.what(), mine);
  EXPECT_EQ(text(all[0]), "one");
  EXPECT_EQ(text(all[1]), "");
  EXPECT_EQ(text(all[2]), "three");
  EXPECT_EQ(all.bytes(), run_list::head(3) + 8);
}

TEST(a_run_list, without_a_byte_is_its_head) {
  std::vector<std::byte> memory(run_list::head(4), std::byte{255});
  const run_list all(memory.data(), 4);
  all.clear();
  for (int run = 0; run < 4; ++run) EXPECT_TRUE(all[run].empty());
  EXPECT_EQ(all.bytes(), run_list::head(4));
}

TEST(a_run, has_its_blocks_behind_their_sizes) {
  std::vector<std::byte> memory(block_run::head(3) + 20);
  block_run::report(memory.data(), 0, 2);
  block_run::report(memory.data(), 1, block_run::not_here);
  block_run::report(memory.data(), 2, 4);
  put(put(memory.data() + block_run::head(3), "ab"), "wxyz");
  const block_run run(memory, 3);
  EXPECT_EQ(text(run.block(0)), "ab");
  EXPECT_TRUE(run.elsewhere(1));
  EXPECT_TRUE(run.block(1).empty());
  EXPECT_FALSE(run.elsewhere(2));
  EXPECT_EQ(text(run.block(2)), "wxyz");
}

TEST(a_run, that_is_empty_has_no_block) {
  const block_run run({}, 3);
  EXPECT_FALSE(run.elsewhere(2));
  EXPECT_TRUE(run.block(2).empty());
}

}  // namespace
}  // namespace taquin::test
