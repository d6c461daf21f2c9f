#include "cli/misspelt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace taquin::cli {

namespace {

// Letters to add, leave out, exchange for another, or swap with their neighbour until `a` is `b`: Damerau's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> d((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) d[i * width] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      std::size_t& least = d[i * width + j];
      least = std::min({d[(i - 1) * width + j] + 1, d[i * width + j - 1] + 1, d[(i - 1) * width + j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, d[(i - 2) * width + j - 2] + 1);
    }
  return d.back();
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
  constexpr std::size_t most = 2;
  const CLI::App* nearest = nullptr;
  std::string names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + sub->get_name();
    if (nearest == nullptr || distance(name, sub->get_name()) < distance(name, nearest->get_name())) nearest = sub;
  }
  if (nearest != nullptr && distance(name, nearest->get_name()) <= most)
    return fmt::format("taquin: no command '{}'; did you mean {}?\n", name, nearest->get_name());
  return fmt::format("taquin: no command '{}'; known are {}\n", name, names);
}

// "-o FILE is missing": an option that a command needs, as one would type it.
std::optional<std::string> missing(const CLI::App& command, const CLI::ParseError& e) {
  for (const CLI::Option* o : command.get_options()) {
    if (!o->get_required() || e.what() != o->get_name() + " is required") continue;
    const auto type = o->get_type_name();
    const auto value = type.substr(0, type.find(':'));  // behind it stands what may be given
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

std::string told(const CLI::App& app, const CLI::ParseError& e, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-'))
    return fmt::format("taquin: {}; see taquin --help\n", e.what());
  return fmt::format("taquin {0}: {1}; see taquin {0} --help\n", arguments[0],
                     missing(*app.get_subcommand(arguments[0]), e).value_or(e.what()));
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
