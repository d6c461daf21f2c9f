// --json[=FILE], the same in all commands.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace taquin::cli {

/// Adds --json: with a file (--json=FILE, --json FILE) that file is `path`, without one, or with "-", standard output
/// ("-"). `what` says what is written.
CLI::Option* add_json_option(CLI::App& app, std::string& path, const std::string& what);

/// Writes a text to standard output ("-") or replaces the file by it. Throws failure.
void write_text(const std::string& path, const std::string& text);

}  // namespace taquin::cli
