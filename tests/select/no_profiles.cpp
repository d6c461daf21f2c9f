// A library without machine profiles says so, and does not ignore the one that it was given.
#include <gtest/gtest.h>

#include <string>

#include "select/profile.hpp"

namespace taquin::detail {
namespace {

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const profile_error& e) {
    return e.what();
  }
  return "";
}

TEST(without_profiles, reading_and_writing_is_refused_with_the_reason) {
  const std::string reason = "built without machine profiles";
  EXPECT_NE(refusal([] { static_cast<void>(from_json("{}")); }).find(reason), std::string::npos);
  EXPECT_NE(refusal([] { static_cast<void>(to_json({})); }).find(reason), std::string::npos);
  EXPECT_NE(refusal([] { static_cast<void>(read_profile("machine.json")); }).find("machine.json: "), std::string::npos);
  EXPECT_NE(refusal([] { write_profile("machine.json", {}); }).find(reason), std::string::npos);
}

}  // namespace
}  // namespace taquin::detail
