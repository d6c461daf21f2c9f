// The taquin command: parses, and hands over to a subcommand.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/misspelt.hpp"
#include "cli/preload.hpp"
#include "harness/session.hpp"
#include "taquin/version.h"

namespace {

using namespace taquin::cli;

constexpr const char* description =
    "All-to-all exchange and data redistribution over MPI, in the memory that you allow it.";

constexpr const char* footer = R"(Examples:
  taquin list
  mpirun -n 4 taquin run -b 64K -a all
  mpirun -n 4 taquin run -w zipf:1.2 -b 4K..4M -a spread_out,pairwise --json results.json
  taquin plan -n 8 -r 3 -a pairwise -b 1K
Each subcommand explains itself: taquin help run)";

// "help run" is "run --help", "help" alone is "--help".
std::vector<std::string> without_help_word(std::vector<std::string> given) {
  if (given.empty() || given[0] != "help") return given;
  given.erase(given.begin());
  if (given.size() > 1) given.resize(1);
  given.emplace_back("--help");
  return given;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{description, "taquin"};
  app.set_version_flag("--version", TAQUIN_VERSION);
  app.footer(footer);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  const auto add = [&](const command& c) {
    CLI::App* sub = app.add_subcommand(c.name, c.summary);
    commands.emplace_back(sub, c.setup(*sub));
  };
#define TAQUIN_COMMAND(name) add(name##_command);
#include "cli/commands.def"
#undef TAQUIN_COMMAND
  const std::vector<std::string> given = without_help_word({argv + 1, argv + argc});
  if (const auto advice = misspelt(app, given)) {
    print_once({}, *advice);
    return usage_status;
  }
  try {
    auto arguments = without_separator(app, given);
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& e) {
    std::ostringstream out;
    std::ostringstream err;
    const int status = app.exit(e, out, err) == 0 ? 0 : usage_status;
    print_once(out.str(), status == 0 ? err.str() : parse_error(app, e, given));
    return status;
  }
  for (const auto& [sub, work] : commands) {
    if (!sub->parsed()) continue;
    try {
      const int status = work();
      if (status != 0 || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return status;
      throw taquin::harness::failure("cannot write to standard output");  // the reason may be that of an earlier line
    } catch (const usage& e) {
      print_once({}, fmt::format("taquin {}: {}\n", sub->get_name(), e.what()));
      return usage_status;
    } catch (const std::exception& e) {
      print_once({}, fmt::format("taquin {}: {}\n", sub->get_name(), e.what()));
      return failure_status;
    }
  }
  return failure_status;
}
