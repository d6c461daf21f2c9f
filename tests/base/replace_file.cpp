#include "base/replace_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace taquin::detail {
namespace {

namespace fs = std::filesystem;

class replace_file_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "taquin-replace-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  [[nodiscard]] std::string path(const char* name) const { return (folder / name).string(); }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder), {}); }

  fs::path folder;
};

TEST_F(replace_file_test, writes_a_new_file_and_replaces_an_old_one_with_its_mode) {
  EXPECT_EQ(replace_file(path("a"), "one"), std::nullopt);
  EXPECT_EQ(read(path("a")), "one");
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  EXPECT_EQ(replace_file(path("a"), "two"), std::nullopt);
  EXPECT_EQ(read(path("a")), "two");
  struct stat about {};
  ASSERT_EQ(stat(path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0640U);
  EXPECT_EQ(files(), 1);
}

TEST_F(replace_file_test, keeps_the_old_file_where_the_new_one_cannot_be_written) {
  ASSERT_EQ(replace_file(path("a"), "old"), std::nullopt);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{4, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto why = replace_file(path("a"), std::string(1000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(why.has_value());
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(replace_file_test, replaces_the_file_that_a_link_leads_to) {
  ASSERT_EQ(replace_file(path("a"), "old"), std::nullopt);
  fs::create_symlink(path("a"), path("link"));
  EXPECT_EQ(replace_file(path("link"), "new"), std::nullopt);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("a")), "new");
}

TEST_F(replace_file_test, replaces_a_link_itself_where_asked) {
  ASSERT_EQ(replace_file(path("a"), "old"), std::nullopt);
  fs::create_symlink(path("a"), path("link"));
  EXPECT_EQ(replace_file(path("link"), "new", links::replaced), std::nullopt);
  EXPECT_FALSE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("link")), "new");
  EXPECT_EQ(read(path("a")), "old");
}

TEST_F(replace_file_test, creates_a_file_beside_what_has_its_name) {
  std::string name;
  EXPECT_EQ(create_file(path("a"), ".json", "one", name), std::nullopt);
  EXPECT_EQ(name, path("a.json"));
  fs::create_symlink(path("nothing"), path("a-1.json"));
  EXPECT_EQ(create_file(path("a"), ".json", "two", name), std::nullopt);
  EXPECT_EQ(name, path("a-2.json"));
  EXPECT_EQ(read(path("a.json")), "one");
  EXPECT_EQ(read(path("a-2.json")), "two");
  EXPECT_FALSE(fs::exists(path("nothing")));
  EXPECT_TRUE(create_file(path("nowhere/a"), ".json", "text", name).has_value());
}

TEST_F(replace_file_test, gives_up_a_pipe_that_nobody_reads) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(replace_file(path("pipe"), "text"), "the pipe has no reader");
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);  // which takes nothing
  EXPECT_EQ(replace_file(path("pipe"), "text"), std::nullopt);
  EXPECT_TRUE(replace_file(path("pipe"), std::string(std::size_t{1} << 20U, 'x')).has_value());
  close(reader);
}

TEST_F(replace_file_test, appends_to_what_is_open_already) {
  const int file = open(path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "before ", 7), 7);
  EXPECT_EQ(replace_file("/proc/self/fd/" + std::to_string(file), "text"), std::nullopt);
  close(file);
  EXPECT_EQ(read(path("log")), "before text");
}

TEST_F(replace_file_test, writes_to_a_device_directly) {
  EXPECT_EQ(replace_file("/dev/null", "text"), std::nullopt);
  EXPECT_TRUE(replace_file("/dev/full", "text").has_value());
  EXPECT_EQ(cannot_replace("/dev/null"), std::nullopt);
}

TEST_F(replace_file_test, tells_beforehand_what_cannot_be_written) {
  EXPECT_EQ(cannot_replace(path("a")), std::nullopt);
  EXPECT_TRUE(cannot_replace(path("nowhere/a")).has_value());
  EXPECT_TRUE(cannot_replace(folder.string()).has_value());
  EXPECT_TRUE(replace_file(path("nowhere/a"), "text").has_value());
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace taquin::detail
