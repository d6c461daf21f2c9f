// What is remembered of earlier runs: files whole, old, damaged and of several programs at once.
#include "select/winners.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace taquin::detail {
namespace {

namespace fs = std::filesystem;

class winners_file : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("taquin-winners-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

winners with(std::uint64_t kind, const algorithm& fastest, int day) {
  winners w;
  w.add(kind, &fastest, day);
  return w;
}

TEST_F(winners_file, adds_to_what_is_there) {
  const fs::path file = folder_ / "new folder" / "winners";
  remember_winners(file, with(1, spread_out, today()));
  remember_winners(file, with(2, native, today()));
  remember_winners(file, with(1, bruck_v, today()));
  const winners read(read_winners(file));
  EXPECT_EQ(read.of(1), &bruck_v);
  EXPECT_EQ(read.of(2), &native);
  EXPECT_EQ(read.of(3), nullptr);
}

TEST_F(winners_file, is_not_believed_for_ever) {
  winners w;
  w.add(1, &native, today() - winners::most_days);
  w.add(2, &native, today() - winners::most_days + 1);
  w.add(3, &native, today() + 1);
  const fs::path file = folder_ / "winners";
  remember_winners(file, w);
  winners read(read_winners(file));
  read.forget_old(today());
  EXPECT_EQ(read.of(1), nullptr);
  EXPECT_EQ(read.of(2), &native);
  EXPECT_EQ(read.of(3), nullptr) << "of a clock that is wrong";
}

TEST_F(winners_file, is_ignored_when_damaged) {
  winners w;
  std::mt19937_64 random(5);
  for (int i = 0; i < 30; ++i) w.add(random(), i % 2 == 0 ? &native : &node_aggregated, today());
  const std::string whole = w.text();
  EXPECT_EQ(winners(whole).text(), whole);
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    for (auto n = random() % 4; n > 0 && !text.empty(); --n)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    const winners read(text);
    EXPECT_EQ(winners(read.text()).text(), read.text());
  }
  EXPECT_TRUE(winners("").empty());
  EXPECT_TRUE(winners("taquin winners 2\n0000000000000001 native 20000\n").empty()) << "of another version";
  const winners some("taquin winners 1\nx native 9\n1 magic 9\n4\n\n2 native 9 more\n3 native");
  EXPECT_EQ(some.of(2), &native);
  EXPECT_EQ(winners(some.text()).text().size(), winners().text().size() + 16 + sizeof(" native 9\n") - 1)
      << "nothing else";
}

TEST_F(winners_file, keeps_to_its_bound) {
  winners w;
  for (std::uint64_t i = 0; i < 2 * winners::most; ++i) w.add(i, &native, static_cast<int>(i));
  EXPECT_EQ(w.of(0), nullptr) << "the oldest go first";
  EXPECT_EQ(w.of(2 * winners::most - 1), &native);
  std::string text = w.text();
  EXPECT_EQ(winners(text).text(), text);
}

TEST_F(winners_file, that_cannot_be_written_is_left) {
  const fs::path file = folder_ / "winners";
  std::ofstream(file) << "something else";
  remember_winners(file / "below", with(1, native, today()));
  remember_winners("/dev/full/winners", with(1, native, today()));
  remember_winners({}, with(1, native, today()));
  EXPECT_EQ(read_winners(file), "something else");
  EXPECT_EQ(read_winners(folder_ / "none"), "");
  EXPECT_EQ(read_winners(folder_), "");
}

TEST_F(winners_file, is_whole_when_several_write) {
  const fs::path file = folder_ / "winners";
  std::vector<pid_t> writers;
  for (std::uint64_t writer = 0; writer < 4; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      for (std::uint64_t i = 0; i < 50; ++i) remember_winners(file, with(writer * 100 + i, native, today()));
      _exit(0);
    }
    writers.push_back(child);
  }
  int reads = 0;
  while (!writers.empty()) {
    const std::string text = read_winners(file);
    EXPECT_EQ(winners(text).text(), text.empty() ? winners().text() : text);
    ++reads;
    int status = 0;
    if (waitpid(writers.back(), &status, WNOHANG) > 0) writers.pop_back();
  }
  EXPECT_GT(reads, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing else is left";
}

TEST_F(winners_file, is_in_the_users_cache) {
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  ASSERT_EQ(unsetenv("XDG_CACHE_HOME"), 0);
  ASSERT_EQ(setenv("HOME", folder_.c_str(), 1), 0);
  EXPECT_EQ(file_of_winners().parent_path(), folder_ / ".cache" / "taquin");
  ASSERT_EQ(setenv("XDG_CACHE_HOME", (folder_ / "other").c_str(), 1), 0);
  EXPECT_EQ(file_of_winners().parent_path(), folder_ / "other" / "taquin");
  ASSERT_EQ(setenv("XDG_CACHE_HOME", "relative", 1), 0);
  EXPECT_EQ(file_of_winners().parent_path(), folder_ / ".cache" / "taquin");
  ASSERT_EQ(unsetenv("HOME"), 0);
  EXPECT_EQ(file_of_winners(), "");
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace taquin::detail
