// Suggestions for a command that does not exist, and for options as another program has them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace taquin::cli {

/// The message before the arguments are parsed: an unknown command, with the nearest known one; or -n for a number of
/// ranks, which mpirun takes. Empty: neither.
std::optional<std::string> misspelt(const CLI::App& app, const std::vector<std::string>& arguments);

/// The message for arguments that cannot be parsed, with the name of the command.
std::string parse_error(const CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& arguments);

/// Accepts numbers from 1 on; the message has the value and the limit.
const CLI::Validator& at_least_one();

}  // namespace taquin::cli
