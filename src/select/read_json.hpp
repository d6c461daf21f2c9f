// JSON from outside: its errors, in words that name the place.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace taquin::detail {

/// The error of a file that the parser, or a reader of its fields, refuses.
inline std::string words_of(const nlohmann::json::exception& e) {
  if (const auto* at = dynamic_cast<const nlohmann::json::parse_error*>(&e))
    return fmt::format("damaged at byte {}", at->byte);
  constexpr int no_key = 403;
  if (e.id != no_key) return "damaged: a field holds another kind of value than it should";
  const std::string_view what = e.what();  // "… key 'NAME' not found"
  const auto first = what.find('\'');
  return fmt::format("damaged: there is no field {}", what.substr(first, what.rfind('\'') - first + 1));
}

/// A file's first packet is that of a trace: its key and length, then the description of a track.
inline bool begins_as_trace(std::string_view text) { return text.starts_with('\n') && text.find("\xe2\x03") == 2; }

/// The kind of a taquin file that is no JSON, and its reader; empty: unknown.
inline std::string what_text_is(std::string_view text) {
  constexpr std::string_view report = "the full report of the same run (TAQUIN_REPORT=full)";
  if (begins_as_trace(text)) return fmt::format("is a trace: open it at ui.perfetto.dev; {} links to it", report);
  if (text.starts_with("# TYPE taquin_"))
    return fmt::format(
        "is a file of metrics, for what reads OpenMetrics text, as Prometheus does; taquin report shows {}", report);
  return {};
}

/// The kind of a taquin JSON file of the wrong kind, and its reader: "a recording, for …"; empty: unknown.
inline std::string_view what_json_is(const nlohmann::json& j) {
  if (j.is_array() && !j.empty() && j[0].is_object() && j[0].contains("algorithm"))
    return "a record of measurements, for taquin report";
  if (!j.is_object()) return {};
  if (j.contains("taquin_traffic")) return "a recording, for --traffic and taquin report";
  if (j.contains("taquin_report")) return "a run's report, for taquin report";
  if (j.contains("taquin_plan")) return "a plan, for taquin report";
  if (const auto format = j.find("format"); format != j.end() && *format == "taquin machine profile")
    return "a machine profile, for TAQUIN_PROFILE and --model";
  return {};
}

/// `what`, as "not a recording", and the kind of the file where that is known.
inline std::string and_what_instead(std::string_view what, const nlohmann::json& j) {
  const std::string_view is = what_json_is(j);
  return is.empty() ? std::string(what) : fmt::format("{}, but {}", what, is);
}

/// Throws Error: "empty file", "more than n levels of nesting", what_text_is, or as above.
template <class Error>
nlohmann::json parse_json(std::string_view text, int most_depth) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) throw Error("empty file");
  try {
    return nlohmann::json::parse(text, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      if (depth > most_depth) throw Error(fmt::format("more than {} levels of nesting", most_depth));
      return true;
    });
  } catch (const nlohmann::json::exception& e) {
    const std::string is = what_text_is(text);
    throw Error(is.empty() ? words_of(e) : is);
  }
}

}  // namespace taquin::detail
