// A subcommand. To add one: a file in this folder that defines `const command taquin::cli::NAME_command`, and
// one line in commands.def.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "harness/errors.hpp"

namespace taquin::cli {

using namespace harness;  // the parts of commands

struct command {
  const char* name;
  const char* summary;
  /// Adds options to `app`. Returns the function that runs after parsing and gives the exit status. MPI is not
  /// initialised when it is called: see harness/session.hpp.
  std::function<int()> (*setup)(CLI::App& app);
};

#define TAQUIN_COMMAND(name) extern const command name##_command;
#include "cli/commands.def"
#undef TAQUIN_COMMAND

}  // namespace taquin::cli
