#include "cli/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace taquin::cli {

namespace {

constexpr auto rows = std::to_array<variable_row>({
#define TAQUIN_VARIABLE(NAME, VALUES, DEFAULT, USED_BY, WORDS) {#NAME, VALUES, DEFAULT, used_by::USED_BY, WORDS},
#include "cli/variables.def"
#undef TAQUIN_VARIABLE
});

std::string_view words_of(used_by user) {
  switch (user) {
    case used_by::library:
      return "every program";
    case used_by::preload:
      return "preload library";
    case used_by::tests:
      break;
  }
  return "tests";
}

std::string without_bars(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

}  // namespace

std::span<const variable_row> variables() noexcept { return rows; }

std::string variables_text() {
  std::string text;
  for (const variable_row& v : rows)
    text += fmt::format("{}={}\n    {} ({}; default: {})\n", v.name, v.values, v.words, words_of(v.user), v.by_default);
  return text;
}

std::string variables_markdown() {
  std::string text = "| variable | values | default | used by | meaning |\n|---|---|---|---|---|\n";
  for (const variable_row& v : rows)
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", v.name, without_bars(v.values), v.by_default,
                        words_of(v.user), v.words);
  return text;
}

}  // namespace taquin::cli
