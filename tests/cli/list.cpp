#include <gtest/gtest.h>

#include "algorithms/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "harness/sparse_methods.hpp"
#include "program.hpp"
#include "redistribute/machine.hpp"

namespace taquin::cli {
namespace {

TEST(list, json_names_every_algorithm_of_the_list_in_order) {
  const auto r = taquin(0, "list --json");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto all = r.json();
  std::vector<std::string> names;
  for (const auto* a : detail::algorithms()) names.emplace_back(a->name);
  for (const auto* a : detail::sparse_algorithms()) names.emplace_back(a->name);
  for (const auto& way : harness::sparse_methods()) names.emplace_back(way.name);
  ASSERT_EQ(all.size(), names.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["name"], names[i]);
    EXPECT_TRUE(all[i]["supports"]["alltoallv"].is_boolean());
    EXPECT_EQ(all[i]["supports"]["sparse"], i >= detail::algorithms().size());
  }
}

TEST(list, markdown_has_a_row_for_every_algorithm) {
  const auto r = taquin(0, "list --markdown");
  ASSERT_EQ(r.status, 0) << r.err;
  for (const auto* a : detail::algorithms())
    EXPECT_EQ(occurrences(r.out, "\n| `" + std::string(a->name) + "` |"), 1) << r.out;
}

TEST(list, names_every_redistribution_algorithm_in_order) {
  const auto r = taquin(0, "list --redistribution --json");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto all = r.json();
  const auto text = taquin(0, "list --redistribution");
  const auto markdown = taquin(0, "list --redistribution --markdown");
  ASSERT_EQ(all.size(), detail::redistributions().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name(detail::redistributions()[i]->name);
    EXPECT_EQ(all[i]["name"], name);
    EXPECT_GT(all[i]["memory_bytes_64_ranks"], 0);
    EXPECT_EQ(occurrences("\n" + text.out, "\n" + name + "\n"), 1) << text.out;
    EXPECT_EQ(occurrences(markdown.out, "\n| `" + name + "` |"), 1) << markdown.out;
  }
}

TEST(list, a_word_too_much_is_a_usage_error) {
  const auto r = taquin(0, "list everything");
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.said("everything")) << r.err;
  EXPECT_EQ(r.out, "");
}

}  // namespace
}  // namespace taquin::cli
