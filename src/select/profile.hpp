// Machine profiles as JSON files: written by `taquin calibrate` and `taquin tune`, named by TAQUIN_PROFILE.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "select/selection.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// A profile that cannot be used, and why.
class profile_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string to_json(const profile& p);
/// Throws profile_error for anything but a complete, sane model: damaged JSON, another version, missing, negative,
/// not finite or absurd figures (a latency over 10 s, a byte slower than 1 ms).
profile from_json(const std::string& text);

profile read_profile(const std::filesystem::path& file);
void write_profile(const std::filesystem::path& file, const profile& p);

/// The hardware for which a profile holds: the cores of this node and the MPI library.
std::string machine_name();
/// "Open MPI v4.1.4": the MPI library that runs.
std::string library_name();

}  // namespace taquin::detail
