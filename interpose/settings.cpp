#include "interpose/settings.hpp"

#include <unistd.h>

#include <cstdlib>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "base/size_text.hpp"
#include "base/sizes.hpp"

namespace taquin::interpose {

namespace {

// The library refuses exchanges under variables that are wrong. Under an unchanged program they are reported and
// removed from the environment before the library reads it.
void drop(settings& s, const char* name, const std::string& why) {
  s.warnings.push_back(why + "; the variable is ignored");
  unsetenv(name);
}

double seconds_of(settings& s, std::string_view text, double usual) {
  if (text.empty()) return usual;
  double seconds = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double most = 3600;
  if (failed == std::errc{} && stop == text.data() + text.size() && seconds >= 0 && seconds <= most) return seconds;
  s.warnings.push_back("TAQUIN_INIT_TIMEOUT='" + std::string(text) + "' is ignored: not seconds from 0 to 3600");
  return usual;
}

void size_or_default(settings& s, const char* name, std::size_t& size) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  if (const auto bytes = size_of(text))
    size = *bytes;
  else
    s.warnings.push_back(std::string(name) + "='" + text + "' is ignored: not a size such as 64, 4K, 50M, 2G");
}

// Recording alone leaves the program's calls as they are, so that the times are the MPI library's.
settings read() {
  settings s;
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text != nullptr ? text : "");
  };
  s.as_given = taquin_variables();
  s.record = variable("TAQUIN_RECORD");
  s.trace = variable("TAQUIN_TRACE");
  s.metrics = variable("TAQUIN_METRICS");
  size_or_default(s, "TAQUIN_TRACE_LIMIT", s.trace_limit);
  if (const auto text = variable("TAQUIN_REPORT"); text == "summary") {
    s.at_end = settings::report::summary;
  } else if (text == "full" || text.starts_with("full:")) {
    s.at_end = settings::report::full;
    if (text != "full") s.report_file = text.substr(5);
  } else if (!text.empty() && text != "none") {
    s.warnings.push_back("TAQUIN_REPORT='" + std::string(text) + "' is ignored: not none, summary or full[:FILE]");
  }
  if (const auto text = variable("TAQUIN_PERSISTENT"); text == "always") {
    s.persistent = settings::persistent_by::plan;
  } else if (text == "never") {
    s.persistent = settings::persistent_by::library;
  } else if (!text.empty() && text != "measured") {
    s.warnings.push_back("TAQUIN_PERSISTENT='" + std::string(text) + "' is ignored: not measured, always or never");
  }
  if (const auto text = variable("TAQUIN_ALLOC_MEM"); text == "shared") {
    s.shared_memory_for_program = true;
  } else if (!text.empty() && text != "library") {
    s.warnings.push_back("TAQUIN_ALLOC_MEM='" + std::string(text) + "' is ignored: not library or shared");
  }
  s.init_timeout =
      std::chrono::duration<double>(seconds_of(s, variable("TAQUIN_INIT_TIMEOUT"), s.init_timeout.count()));
  if (const auto text = variable("TAQUIN_DISABLE"); text == "1") {
    s.disabled = true;
  } else if (!text.empty() && text != "0") {
    s.warnings.push_back("TAQUIN_DISABLE='" + std::string(text) + "' is ignored: not 0 or 1");
  }
  if (const auto name = variable("TAQUIN_ALGORITHM");
      !name.empty() && name != "auto" && detail::find_algorithm(name) == nullptr)
    drop(s, "TAQUIN_ALGORITHM",
         "TAQUIN_ALGORITHM: unknown algorithm '" + std::string(name) + "'; known are auto, " +
             detail::algorithm_names());
  // The library reports only the invalid variable that it reads last, so these are checked in the reverse order.
  for (const char* name : {"TAQUIN_NODES", "TAQUIN_TIMEOUT", "TAQUIN_PROGRESS_THREAD", "TAQUIN_SINGLE_COPY",
                           "TAQUIN_SHARED_MEMORY", "TAQUIN_CHECK"})
    if (const auto why = detail::environment::invalid_text_of(name); !why.empty()) drop(s, name, why);
  const std::string_view memory = variable("TAQUIN_MEMORY");
  s.route = s.record.empty() || !variable("TAQUIN_ALGORITHM").empty() || !memory.empty();
  size_or_default(s, "TAQUIN_MEMORY", s.memory);
  return s;
}

}  // namespace

std::map<std::string, std::string> taquin_variables() {
  std::map<std::string, std::string> all;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view text = *at;
    const auto equals = text.find('=');
    if (!text.starts_with("TAQUIN_") || equals == std::string_view::npos) continue;
    std::string name(text.substr(0, equals));
    if (name != "TAQUIN_RECORD_PROCESS") all.emplace(std::move(name), text.substr(equals + 1));
  }
  return all;
}

std::optional<std::size_t> size_of(std::string_view text) {
  const auto [bytes, invalid_text] = detail::read_size(text);
  return invalid_text == nullptr ? std::optional(detail::as_size(bytes)) : std::nullopt;
}

const settings& settings::get() {
  static const settings s = read();
  return s;
}

}  // namespace taquin::interpose
