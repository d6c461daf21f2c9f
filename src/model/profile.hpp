// Machine models as JSON files: what `taquin calibrate` writes and TAQUIN_PROFILE names.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// A profile that cannot be used, and why.
class profile_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string to_json(const machine_model& model);
/// Throws profile_error for anything but a complete, sane model: damaged JSON, another version, missing, negative,
/// not finite or absurd figures (a latency over 10 s, a byte slower than 1 ms).
machine_model from_json(const std::string& text);

machine_model read_profile(const std::filesystem::path& file);
void write_profile(const std::filesystem::path& file, const machine_model& model);

}  // namespace taquin::detail
