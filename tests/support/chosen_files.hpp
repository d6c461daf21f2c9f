// The tests of a program that are in chosen sources: --of=FILE,… runs these.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace taquin::test {

// Leaves all other tests out, and takes the argument away. After InitGoogleTest. Ends the program if there is no test.
inline void choose_files(int& argc, char** argv) {
  constexpr std::string_view option = "--of=";
  if (argc < 2 || !std::string_view(argv[1]).starts_with(option)) return;
  const std::string files = "," + std::string(argv[1]).substr(option.size()) + ",";
  for (int i = 1; i < argc; ++i) argv[i] = argv[i + 1];
  --argc;
  const auto chosen = [&](const testing::TestInfo& test) {
    const std::string_view file = test.file();
    return files.find("," + std::string(file.substr(file.rfind('/') + 1)) + ",") != std::string::npos;
  };
  std::string& filter = testing::GTEST_FLAG(filter);
  auto leave_out = [&, first = filter.find('-') == std::string::npos](const std::string& what) mutable {
    filter += (first ? "-" : ":") + what;
    first = false;
  };
  bool any = false;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    std::vector<std::string> out;
    for (int k = 0; k < suite.total_test_count(); ++k)
      if (!chosen(*suite.GetTestInfo(k))) out.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(k)->name());
    if (out.size() == static_cast<std::size_t>(suite.total_test_count()))
      out = {std::string(suite.name()) + ".*"};
    else
      any = true;
    for (const auto& test : out) leave_out(test);
  }
  if (any) return;
  std::fprintf(stderr, "no test is in %s\n", files.c_str());
  std::exit(EXIT_FAILURE);
}

}  // namespace taquin::test
