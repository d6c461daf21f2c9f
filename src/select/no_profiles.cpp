// Instead of profile.cpp in a library without JSON: the functions of profile.hpp as errors.
#include <fmt/format.h>

#include "select/profile.hpp"

namespace taquin::detail {

namespace {
constexpr const char* reason = "this taquin was built without machine profiles (TAQUIN_TOOLS is off)";
}

std::string to_json(const profile& /*p*/) { throw profile_error(reason); }
profile from_json(const std::string& /*text*/) { throw profile_error(reason); }

profile read_profile(const std::filesystem::path& file) {
  throw profile_error(fmt::format("{}: {}", file.string(), reason));
}

void write_profile(const std::filesystem::path& file, const profile& /*p*/) {
  throw profile_error(fmt::format("{}: {}", file.string(), reason));
}

}  // namespace taquin::detail
