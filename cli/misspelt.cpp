#include "cli/misspelt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "harness/nearest.hpp"

namespace taquin::cli {

namespace {

std::string unknown_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(sub->get_name());
  known.emplace_back("help");
  if (const std::string meant = harness::nearest(name, known); !meant.empty())
    return fmt::format("taquin: no command '{}'; did you mean {}?\n", name, meant);
  return fmt::format("taquin: no command '{}'; known are {}\n", name, fmt::join(known, ", "));
}

// "unknown option --workloda; did you mean --workload?": the first argument that the command does not know.
std::optional<std::string> unknown_option(const CLI::App& command, const CLI::ParseError& e) {
  if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return std::nullopt;
  const auto extras = command.remaining();
  if (extras.empty()) return std::nullopt;
  const std::string given = extras[0].substr(0, extras[0].find('='));
  if (!given.starts_with('-')) return fmt::format("unexpected argument '{}'", given);
  std::vector<std::string> known;
  for (const CLI::Option* o : command.get_options())
    for (const auto& name : o->get_lnames()) known.push_back("--" + name);
  const std::string meant = harness::nearest(given, known);
  return fmt::format("unknown option {}{}", given, meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
}

// "-o FILE is missing": an option that a command needs, as one would type it.
std::optional<std::string> missing(const CLI::App& command, const CLI::ParseError& e) {
  for (const CLI::Option* o : command.get_options()) {
    if (!o->get_required() || e.what() != o->get_name() + " is required") continue;
    const auto type = o->get_type_name();
    const auto value = type.substr(0, type.find(':'));  // after it stand the known values
    if (o->get_positional()) return value + " is missing";
    return fmt::format("{} {} is missing", o->get_snames().empty() ? o->get_name() : "-" + o->get_snames()[0], value);
  }
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::string> misspelt(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return std::nullopt;
  const auto found = app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == arguments[0]; });
  if (found.empty()) return unknown_command(app, arguments[0]);
  if (found[0]->get_prefix_command() || found[0]->get_option_no_throw("-n") != nullptr) return std::nullopt;
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i)
    if ((arguments[i] == "-n" || arguments[i] == "-np") && is_number(arguments[i + 1]))
      return fmt::format("taquin {0}: mpirun starts the ranks: mpirun -n {1} taquin {0} ...\n", arguments[0],
                         arguments[i + 1]);
  return std::nullopt;
}

std::string parse_error(const CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-'))
    return fmt::format("taquin: {}; see taquin --help\n", e.what());
  const CLI::App& command = *app.get_subcommand(arguments[0]);
  auto what = missing(command, e);
  if (!what) what = unknown_option(command, e);
  return fmt::format("taquin {0}: {1}; see taquin {0} --help\n", arguments[0], what.value_or(e.what()));
}

const CLI::Validator& at_least_one() {
  static const CLI::Validator validator(
      [](std::string& text) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool good = error == std::errc{} && end == text.data() + text.size() && value >= 1;
        return good ? std::string() : fmt::format("must be a number from 1 on, got {}", text);
      },
      "");
  return validator;
}

}  // namespace taquin::cli
