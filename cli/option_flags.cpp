#include "cli/option_flags.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>

namespace taquin::cli {

namespace {

using detail::option_row;

std::string flag_of(const option_row& row) {
  std::string flag = "--" + std::string(row.name);
  std::ranges::replace(flag, '_', '-');
  return row.name == "in_flight" ? flag + ",--max-in-flight" : flag;  // its earlier name
}

std::string help_of(const option_row& row) {
  const bool of_all = row.part == "call" || row.part == "exchange";
  return of_all ? row.words : std::string(row.part) + ": " + row.words;
}

// The groups of all options, in the order of the help.
constexpr std::array<std::string_view, 3> groups{"All algorithms", "Waiting and progress", "Single algorithms"};

std::string_view group_of(const option_row& row) {
  if (row.part == "exchange") return groups[0];
  return row.part == "call" ? groups[1] : groups[2];
}

void add(CLI::App& app, const option_row& row, std::string& into) {
  app.add_option(flag_of(row), into, help_of(row))->capture_default_str();
}
void add(CLI::App& app, const option_row& row, bool& into) { app.add_flag(flag_of(row), into, help_of(row)); }
void add(CLI::App& app, const option_row& row, time_limit& into) {
  app.add_option_function<float>(
         flag_of(row), [&into](float seconds) { into = seconds; }, help_of(row))
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
}
void add(CLI::App&, const option_row&, std::size_t&) {}  // the memory: a part of the sent data, in most commands
template <class Choice>
requires std::is_enum_v<Choice>
void add(CLI::App& app, const option_row& row, Choice& into) {
  std::string names;
  for (const auto& v : detail::values_of(row)) names += (names.empty() ? "" : "|") + std::string(v.word);
  const auto take = [&into, &row, names](const std::string& word) {
    const auto value = detail::value_of(row, word);
    if (!value) throw CLI::ValidationError(flag_of(row), "'" + word + "' must be one of " + names);
    into = static_cast<Choice>(*value);
  };
  app.add_option_function<std::string>(flag_of(row), take, help_of(row))->type_name(names);
}
template <class Number>
void add(CLI::App& app, const option_row& row, Number& into) {
  auto* option = app.add_option(flag_of(row), into, help_of(row))->type_name("NUMBER");
  option->check(CLI::Range(row.least, row.most).description(""));
  if constexpr (std::is_same_v<Number, std::vector<int>>)
    option->delimiter(',')->allow_extra_args(false)->type_name("NUMBER[,NUMBER...]");
}

bool wanted(const option_row& row, std::initializer_list<std::string_view> names) {
  if (names.size() == 0) return row.name != "algorithm" && row.name != "memory";
  return std::ranges::find(names, row.name) != names.end();
}

}  // namespace

void add_option_flags(CLI::App& app, detail::owned_options& into, std::initializer_list<std::string_view> names) {
  const auto add_if = [&](auto belongs) {
#define TAQUIN_OPTION(NAME, ...)                                                      \
  if (wanted(detail::option_rows::NAME, names) && belongs(detail::option_rows::NAME)) \
    add(app, detail::option_rows::NAME, into.NAME);
#include "base/options.def"
  };
  if (names.size() != 0) return add_if([](const option_row&) { return true; });
  for (const std::string_view group : groups) {
    app.option_defaults()->group(std::string(group));
    add_if([group](const option_row& row) { return group_of(row) == group; });
  }
}

}  // namespace taquin::cli
