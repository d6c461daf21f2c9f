// The lines of a long run where standard error is no terminal, as behind mpirun.
#include "harness/progress.hpp"

#include <gtest/gtest.h>

#include <string>

namespace taquin::harness {
namespace {

std::string shown(bool wanted, double first_line) {
  testing::internal::CaptureStderr();
  {
    progress p(wanted, first_line);
    p.show("pairwise, repetition 3:", 0.425);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(progress, prints_lines_where_standard_error_is_no_terminal) {
  EXPECT_EQ(shown(true, 0), "taquin: pairwise, repetition 3: 42%, after 0 s\n");
  EXPECT_EQ(shown(true, 1e6), "") << "a short run has none";
  EXPECT_EQ(shown(false, 0), "") << "one rank speaks";
}

}  // namespace
}  // namespace taquin::harness
