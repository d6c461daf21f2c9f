// What a subcommand is. To add one: a file in this folder that defines `const command taquin::cli::NAME_command`, and
// one line in commands.def.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>

namespace taquin::cli {

/// A wrong command line, found after parsing, on every rank alike: printed once, exit status 2.
class usage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Work that failed on every rank alike: printed once, exit status 1.
class failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct command {
  const char* name;
  const char* summary;
  /// Adds options to `app`. What it returns runs after parsing and gives the exit status. MPI is not initialised then:
  /// see session.hpp.
  std::function<int()> (*setup)(CLI::App& app);
};

#define TAQUIN_COMMAND(name) extern const command name##_command;
#include "cli/commands.def"
#undef TAQUIN_COMMAND

}  // namespace taquin::cli
