// The list, the files beside it, and the identifiers agree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "algorithms/algorithm.hpp"

namespace taquin::detail {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) found.insert((*i)[1]);
  return found;
}

TEST(list, has_every_algorithm_that_is_defined) {
  const std::filesystem::path folder = TAQUIN_ALGORITHMS_DIR;
  const auto listed = matches(text_of(folder / "algorithms.def"), std::regex(R"((?:^|\n)TAQUIN_ALGORITHM\((\w+)\))"));
  std::set<std::string> defined;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.path().extension() == ".cpp")
      defined.merge(matches(text_of(file.path()), std::regex(R"(\nconst algorithm (\w+)\s*[{=])")));
  EXPECT_EQ(listed, defined);
  EXPECT_EQ(listed.size(), algorithms().size());
}

TEST(list, has_unique_names_that_are_the_identifiers) {
  std::set<std::string_view> names;
  for (const auto* a : algorithms()) {
    EXPECT_TRUE(names.insert(a->name).second) << a->name;
    EXPECT_EQ(find_algorithm(a->name), a);
    EXPECT_NE(algorithm_names().find(a->name), std::string::npos);
  }
#define TAQUIN_ALGORITHM(identifier) EXPECT_EQ(identifier.name, #identifier);
#include "algorithms/algorithms.def"
#undef TAQUIN_ALGORITHM
}

TEST(list, says_everything_about_each_algorithm) {
  for (const auto* a : algorithms()) {
    SCOPED_TRACE(a->name);
    EXPECT_FALSE(a->summary.empty());
    EXPECT_FALSE(a->source.empty());
    EXPECT_FALSE(a->rounds.empty());
    EXPECT_NE(a->supports, nullptr);
    EXPECT_NE(a->memory, nullptr);
    EXPECT_NE(a->cost, nullptr);
    EXPECT_TRUE(a->build != nullptr || a->prepare != nullptr);
  }
}

}  // namespace
}  // namespace taquin::detail
