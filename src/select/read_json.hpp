// JSON from outside: what is wrong with it, in words that name the place.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace taquin::detail {

/// What is wrong with a file that the parser, or a reader of its fields, refuses.
inline std::string words_of(const nlohmann::json::exception& e) {
  if (const auto* at = dynamic_cast<const nlohmann::json::parse_error*>(&e))
    return fmt::format("damaged at byte {}", at->byte);
  constexpr int no_key = 403;
  if (e.id != no_key) return "damaged: a field holds another kind of value than it should";
  const std::string_view what = e.what();  // "… key 'NAME' not found"
  const auto first = what.find('\'');
  return fmt::format("damaged: there is no field {}", what.substr(first, what.rfind('\'') - first + 1));
}

/// Throws Error: "empty file", "more than n levels of nesting", or as above.
template <class Error>
nlohmann::json parse_json(std::string_view text, int most_depth) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) throw Error("empty file");
  try {
    return nlohmann::json::parse(text, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      if (depth > most_depth) throw Error(fmt::format("more than {} levels of nesting", most_depth));
      return true;
    });
  } catch (const nlohmann::json::exception& e) {
    throw Error(words_of(e));
  }
}

}  // namespace taquin::detail
