#include "cli/page_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/page_checks.hpp"
#include "select/profile.hpp"
#include "select/read_json.hpp"

namespace taquin::cli {

namespace {

using nlohmann::json;

constexpr int plan_version = 1;
constexpr int report_version = 1;
constexpr int most_depth = 32;  // no file of ours has more; the functions that write JSON call themselves

std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, ignored))
    throw invalid_file(fmt::format("cannot be read: {}", std::strerror(in ? EISDIR : errno)));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw invalid_file(fmt::format("cannot be read: {}", std::strerror(errno)));
  return std::move(text).str();
}

void check_interval(const checked& r, const char* key) {
  if (!r.has(key)) return;
  const checked interval = r.at(key);
  interval.array(2, 2);
  const double low = interval.item(0).number(0, most_seconds);
  if (interval.item(1).number(0, most_seconds) < low)
    throw invalid_file(fmt::format("the ends of an interval \"{}\" are the wrong way round", key));
}

void check_prediction(const checked& r) {
  r.at("algorithm").text();
  static_cast<void>(r.at("ranks").integer(1, most_ranks));
  r.maybe_text("workload");
  r.maybe_text("collective");
  r.maybe_number("bytes_per_rank", 0, most_bytes);
  for (const char* key : {"formula_s", "schedule_s"}) r.maybe_number(key, 0, most_seconds);
}

void check_version(const checked& file, const char* key, int version) {
  if (file.at(key).value() != version)
    throw invalid_file(
        fmt::format("\"{}\" is {}: this program reads version {}", key, file.at(key).value().dump(), version));
}

void check_plan(const checked& file) {
  check_version(file, "taquin_plan", plan_version);
  file.at("algorithm").text();
  const double ranks = file.at("ranks").integer(1, 4096);
  file.maybe_text("workload");
  file.maybe_text("note");
  file.maybe_number("per_node", 0, most_ranks);
  double on_nodes = 0;
  file.each("nodes", [&](const checked& node) { on_nodes += node.integer(1, ranks); });
  if (file.has("nodes") && on_nodes != ranks)
    throw invalid_file(fmt::format("\"nodes\" have {} ranks of {}", on_nodes, ranks));
  const auto rank_at = [&](const checked& list, std::size_t i) {
    static_cast<void>(list.item(i).integer(0, ranks - 1));
  };
  file.each("rounds", [&](const checked& round) {
    round.each("messages", [&](const checked& m) {
      m.array(3, 4);
      rank_at(m, 0);
      rank_at(m, 1);
      static_cast<void>(m.item(2).integer(0, most_bytes));
    });
    round.each("copies", [&](const checked& c) {
      c.array(4, 4);
      rank_at(c, 0);
      static_cast<void>(c.item(1).integer(0, most_bytes));
      c.item(2).text();
      c.item(3).text();
    });
    round.each("scratch", [&](const checked& s) {
      s.array(2, 3);
      rank_at(s, 0);
      static_cast<void>(s.item(1).integer(0, most_bytes));
    });
  });
  if (file.has("strip")) {
    const checked strip = file.at("strip");
    strip.each("ranks", [&](const checked& r) {
      for (const char* key : {"units", "aux"}) static_cast<void>(r.at(key).integer(0, most_count));
      for (const char* key : {"out", "in"})
        r.each(key, [&](const checked& b) {
          b.array(3, 3);
          for (std::size_t i = 0; i < 3; ++i) static_cast<void>(b.item(i).integer(0, most_count));
        });
    });
    strip.each("events", [&](const checked& e) {
      e.array(6, 7);
      e.item(0).text();
      rank_at(e, 2);
      for (const std::size_t i : {1U, 3U, 4U, 5U}) static_cast<void>(e.item(i).integer(-most_count, most_count));
    });
  }
  file.each("steps", [](const checked& s) {
    s.array(6, 6);
    for (std::size_t i = 0; i < 6; ++i) static_cast<void>(s.item(i).number(0, most_count));
  });
}

// A record of `run` or `redistribute`.
void check_record(const checked& r) {
  r.at("algorithm").text();
  static_cast<void>(r.at("ranks").integer(1, most_ranks));
  for (const char* key :
       {"workload", "collective", "asked", "requested", "reason", "cell", "command", "rival", "family"})
    r.maybe_text(key);
  for (const char* key : {"bytes_per_rank", "memory_limit", "peak_memory", "bytes_sent", "bytes_copied", "wrong_bytes"})
    r.maybe_number(key, 0, 2 * most_bytes);
  for (const char* key : {"rounds", "messages", "blocks", "block_bytes", "free_blocks", "repetitions"})
    r.maybe_number(key, 0, 2 * most_count);
  r.maybe_number("median_s", 0, most_seconds);
  r.maybe_number("predicted_s", 0, most_seconds);
  for (const char* key : {"ratio_to_native", "ratio_to_rival"}) r.maybe_number(key, 0, most_seconds);
  r.maybe_number("regret", -1, most_seconds);
  for (const char* key : {"ci95_s", "ratio_ci95"}) check_interval(r, key);
  if (r.has("over_time")) check_plan(r.at("over_time"));
}

void check_site(const checked& s, double ranks) {
  for (const char* key : {"function", "file"}) s.maybe_text(key);
  s.at("form").text();
  s.maybe_number("line", 0, 1e9);
  if (s.has("communicator")) static_cast<void>(s.at("communicator").at("ranks").integer(1, ranks));
  static_cast<void>(s.at("calls").integer(0, most_count));
  static_cast<void>(s.at("bytes").number(0, most_bytes));
  static_cast<void>(s.at("seconds").number(0, most_seconds));
  s.maybe_number("waiting_seconds", 0, most_seconds);
  s.maybe_number("peak_memory", 0, most_bytes);
  for (const char* key : {"destinations", "sources"}) s.maybe_number(key, 0, ranks);
  for (const char* key : {"sent", "received", "arrival"})
    s.each(key, [](const checked& v) { static_cast<void>(v.number(0, most_bytes)); });
  s.each("sizes", [](const checked& v) {
    v.array(2, 2);
    static_cast<void>(v.item(0).number(0, most_bytes));
    static_cast<void>(v.item(1).number(0, most_count));
  });
  s.each("evolution", [](const checked& v) {
    v.array(3, 4);
    for (std::size_t i = 0; i < v.size(); ++i) static_cast<void>(v.item(i).number(0, most_bytes));
  });
  s.each("algorithms", [](const checked& v) {
    v.at("name").text();
    static_cast<void>(v.at("calls").integer(0, most_count));
  });
  s.each("fallbacks", [](const checked& v) {
    v.at("reason").text();
    v.maybe_number("calls", 0, most_count);
  });
  if (s.has("native")) {
    static_cast<void>(s.at("native").at("seconds").number(0, most_seconds));
    s.at("native").at("basis").text();
  }
  s.each("flows", [&](const checked& v) {
    v.array(3, 3);
    for (const std::size_t i : {0U, 1U}) static_cast<void>(v.item(i).integer(0, ranks - 1));
    static_cast<void>(v.item(2).number(0, most_bytes));
  });
}

void check_report(const checked& file) {
  check_version(file, "taquin_report", report_version);
  const double ranks = file.at("ranks").integer(1, most_ranks);
  file.maybe_text("program");
  file.maybe_text("trace");
  file.maybe_number("nodes", 1, ranks);
  file.maybe_number("seconds", 0, most_seconds);
  file.maybe_number("memory_limit", 0, 2 * most_bytes);
  if (file.has("totals")) {
    static_cast<void>(file.at("totals").at("seconds").number(0, most_seconds));
    file.at("totals").maybe_number("waiting_seconds", 0, most_seconds);
  }
  file.at("sites").array();
  file.each("sites", [&](const checked& s) { check_site(s, ranks); });
  file.each("advice", [](const checked& a) {
    a.at("text").text();
    a.maybe_text("command");
    a.maybe_text("basis");
    a.maybe_number("saves_seconds", 0, most_seconds);
  });
}

json read_array(const json& j) {
  const checked file(j, "records");
  if (j.empty()) throw invalid_file("holds no record");
  const bool predicted = j[0].is_object() && (j[0].contains("formula_s") || j[0].contains("schedule_s"));
  for (std::size_t i = 0; i < j.size(); ++i) {
    if (predicted) {
      check_prediction(file.item(i));
    } else {
      check_record(file.item(i));
    }
  }
  return {{"kind", predicted ? "predictions" : "records"}, {"data", j}};
}

json read_profile(const json& j, const std::string& text) {
  try {
    static_cast<void>(detail::from_json(text));
  } catch (const detail::profile_error& e) {
    throw invalid_file(e.what());
  }
  return {{"kind", "profile"}, {"data", j}};
}

json read_traffic(const std::filesystem::path& path, int per_node) {
  try {
    return {{"kind", "traffic"}, {"data", page_traffic(workloads::read_traffic(path), per_node)}};
  } catch (const workloads::traffic_error& e) {
    std::string what = e.what();
    const std::string prefix = fmt::format("traffic file {}: ", path.string());
    if (what.starts_with(prefix)) what.erase(0, prefix.size());
    throw invalid_file(what);
  }
}

// Traces open elsewhere. One is packets from its first byte on: each has a key, a length and as many bytes.
void refuse_damaged_trace(const std::string& text) {
  if (!detail::begins_as_trace(text)) return;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t packet = at++;
    std::uint64_t length = 0;
    unsigned shift = 0;
    constexpr unsigned bits = 7;
    while (at < text.size() && (text[at] & 0x80) != 0 && shift < 4 * bits) {
      length |= (std::uint64_t(text[at++]) & 0x7fU) << shift;
      shift += bits;
    }
    if (at < text.size()) length |= std::uint64_t(text[at++]) << shift;
    if (text[packet] != '\n' || length == 0 || length > text.size() - at)
      throw invalid_file(fmt::format("is a trace, damaged at byte {}", packet + 1));
    at += length;
  }
}

json read_kind(const std::filesystem::path& path, int per_node) {
  const std::string text = read_text(path);
  refuse_damaged_trace(text);
  const json j = detail::parse_json<invalid_file>(text, most_depth);
  const checked file(j, "the file");
  if (j.is_array()) return read_array(j);
  if (!j.is_object()) throw invalid_file("is JSON, but nothing that taquin writes");
  if (j.contains("taquin_traffic")) return read_traffic(path, per_node);
  if (j.contains("format")) return read_profile(j, text);
  if (j.contains("taquin_plan")) {
    check_plan(file);
    return {{"kind", "plan"}, {"data", j}};
  }
  if (j.contains("taquin_report")) {
    check_report(file);
    return {{"kind", "report"}, {"data", j}};
  }
  throw invalid_file("is JSON, but nothing that taquin writes");
}

}  // namespace

json read_page_input(const std::filesystem::path& path, int per_node) {
  try {
    json j = read_kind(path, per_node);
    j["name"] = path.string();
    return j;
  } catch (const json::exception& e) {
    throw invalid_file(detail::words_of(e));
  }
}

std::string html_safe(const json& j) {
  const std::string text = j.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string one_line(std::string text) {
  constexpr std::size_t most = 300;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  if (text.size() > most) text.replace(most, std::string::npos, " ...");
  return text;
}

}  // namespace taquin::cli
