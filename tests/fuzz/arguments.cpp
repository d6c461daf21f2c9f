// The command line: one argument a line. It is parsed, and nothing is run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/preload.hpp"
#include "fuzz/fuzz.hpp"
#include "harness/names.hpp"
#include "harness/sizes.hpp"

namespace {

// Values that commands read after parsing.
void read_values(const std::string& text) {
  using namespace taquin::cli;
  const auto quietly = [&](auto read) {
    try {
      read();
    } catch (const usage&) {
    }
  };
  quietly([&] { taquin::fuzz::require(parse_size(text) >= 0); });
  quietly([&] { taquin::fuzz::require(!parse_sizes(text).empty()); });
  quietly([&] { static_cast<void>(memory_choice::parse(text).limit(1 << 20)); });
  quietly([&] { static_cast<void>(parse_workload(text)); });
  quietly([&] { static_cast<void>(parse_collective(text)); });
  quietly([&] { check_algorithms({text}, true); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = taquin::fuzz::text_of(data, size);
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    arguments.emplace_back(line.substr(0, line.find('\0')));  // as the system gives them
  }
  for (const auto& a : arguments) read_values(a);
  CLI::App app{"", "taquin"};
  app.require_subcommand(1);
  std::vector<std::function<int()>> actions;  // they own what the options are read into
  const auto add = [&](const taquin::cli::command& c) {
    actions.push_back(c.setup(*app.add_subcommand(c.name, c.summary)));
  };
#define TAQUIN_COMMAND(name) add(taquin::cli::name##_command);
#include "cli/commands.def"
#undef TAQUIN_COMMAND
  try {
    arguments = taquin::cli::without_separator(app, std::move(arguments));
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError&) {
  } catch (const taquin::cli::usage&) {
  }
  return 0;
}
