// The bytes that the text of budget_exceeded names.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "taquin/error.hpp"

namespace taquin::test {

/// "… needs at least N bytes of scratch memory, … are allowed; M are as good as no limit".
struct named_memory {
  std::size_t least = 0;  ///< N
  std::size_t usual = 0;  ///< M, or N if there is none

  explicit named_memory(const budget_exceeded& e) {
    const std::string text = e.what();
    const auto number_after = [&](const char* words) -> std::size_t {
      const std::size_t at = text.find(words);
      return at == std::string::npos ? 0 : std::stoull(text.substr(at + std::string(words).size()));
    };
    least = number_after("needs at least ");
    usual = number_after(" are allowed; ");
    EXPECT_EQ(least, e.requested() + e.used()) << text;
    EXPECT_EQ(usual > 0, text.find(" are as good as no limit") != std::string::npos) << text;
    if (usual == 0) usual = least;
    EXPECT_GE(usual, least) << text;
  }
};

}  // namespace taquin::test
