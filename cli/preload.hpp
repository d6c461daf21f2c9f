// Running a program with taquin underneath: what `record` and `wrap` share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace taquin::cli {

/// Sets a variable for the program.
void set_variable(const char* name, const std::string& value);

/// Becomes `command` (its name is looked up in PATH) with the preloaded library in LD_PRELOAD. MPI must not have been
/// initialised. Returns only by throwing failure: the program or the library is missing.
[[noreturn]] void become(const std::vector<std::string>& command);

}  // namespace taquin::cli
