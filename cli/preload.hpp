// Running a program with taquin underneath: the common part of `record` and `wrap`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace taquin::cli {

/// The arguments without a "--" that stands right before the program, which CLI11 would not take. `app` is the whole
/// command; arguments of subcommands that run no program stay as they are.
std::vector<std::string> without_separator(const CLI::App& app, std::vector<std::string> arguments);

/// Throws usage when there is no command or its first word is an option, failure when no such program can be run.
void check_command(const std::vector<std::string>& command);

/// Sets a variable for the program.
void set_variable(const char* name, const std::string& value);

/// The file to write, with its whole path: the program may change its folder. Throws failure where it cannot be
/// written, before the program runs for hours. Does not create or change the file, because the program may still fail.
std::filesystem::path writable(const std::string& name);

/// The files that the preload library writes beside a recording or a report. Empty: nothing.
struct observation_files {
  std::string trace;
  std::string trace_limit;
  std::string metrics;
};
void add_observation_options(CLI::App& app, observation_files& files);
/// For the program.
void set_variables(const observation_files& files);

/// Adds the option --mpi.
void add_mpi_option(CLI::App& app, std::string& mpi);

/// Becomes `command` (its name is looked up in PATH) with the preloaded library in LD_PRELOAD: the build for the MPI
/// library that the program uses, or for the one that `mpi` names. MPI must not have been initialised. Returns only by
/// throwing failure: the library is missing or the program cannot be run. With `scalapack` libtaquin_scalapack as well.
[[noreturn]] void become(const std::vector<std::string>& command, const std::string& mpi, bool scalapack = false);

}  // namespace taquin::cli
