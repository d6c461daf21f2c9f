// What somebody meant who typed a command that there is not, or its options as another program has them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace taquin::cli {

/// What to say before the arguments are parsed: a command that is none, with the nearest; ranks asked for with -n where
/// mpirun starts them. Nothing where neither is so.
std::optional<std::string> misspelt(const CLI::App& app, const std::vector<std::string>& arguments);

/// What is said of arguments that cannot be parsed, with the name of the command.
std::string told(const CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& arguments);

/// Accepts numbers from 1 on; the message has the value and the limit.
const CLI::Validator& at_least_one();

}  // namespace taquin::cli
