#include "base/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace taquin::detail {

namespace {

// Numbers separated by commas, NxM for N times M; false when it is anything else.
bool parse(std::string_view text, std::vector<int>& numbers) {
  constexpr int most = 1 << 24;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int number = 0;
    int times = 1;
    auto read = std::from_chars(at, end, number);
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == 'x') {
      times = number;
      read = std::from_chars(read.ptr + 1, end, number);
      if (times < 1 || times > most) return false;
    }
    if (read.ec != std::errc{}) return false;
    numbers.insert(numbers.end(), static_cast<std::size_t>(times), number);
    if (read.ptr == end) return true;
    if (*read.ptr != ',') return false;
    at = read.ptr + 1;
  }
}

void read_switch(const char* name, bool& value, environment& e) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  const std::string_view given = text;
  if (given == "1" || given == "0")
    value = given == "1";
  else
    e.invalid_argument = std::string(name) + " must be 0 or 1, not '" + text + "'";
}

void read_timeout(environment& e) {
  const char* text = std::getenv("TAQUIN_TIMEOUT");
  if (text == nullptr || *text == '\0') return;
  char* end = nullptr;
  e.timeout = std::strtof(text, &end);
  const std::string_view rest = end;
  if (rest == ",abort") e.on_timeout = after_timeout::abort;
  if (rest == ",fail") e.on_timeout = after_timeout::fail;
  const bool known = rest.empty() || rest == ",wait" || e.on_timeout != after_timeout::wait;
  if (end != text && known && e.timeout >= 0) return;
  e.timeout = 0;
  e.invalid_argument =
      std::string("TAQUIN_TIMEOUT must be seconds, and wait, abort or fail after a comma, not '") + text + "'";
}

environment read() {
  environment e;
  if (const char* text = std::getenv("TAQUIN_ALGORITHM")) e.algorithm = text;
  if (const char* text = std::getenv("TAQUIN_PROFILE")) e.profile = text;
  read_switch("TAQUIN_CHECK", e.check, e);
  read_switch("TAQUIN_SHARED_MEMORY", e.shared_memory, e);
  read_switch("TAQUIN_SINGLE_COPY", e.single_copy, e);
  read_switch("TAQUIN_PROGRESS_THREAD", e.progress_thread, e);
  read_timeout(e);
  if (const char* text = std::getenv("TAQUIN_NODES");
      text != nullptr && *text != '\0' && !parse_nodes(text, e.nodes, e.groups))
    e.invalid_argument =
        "TAQUIN_NODES must be numbers of ranks separated by commas, and at most two such lists of groups inside "
        "nodes, each after a slash, not '" +
        std::string(text) + "'";
  return e;
}

}  // namespace

bool parse_nodes(std::string_view text, std::vector<int>& nodes, std::vector<std::vector<int>>& groups) {
  for (bool first = true;; first = false) {
    const auto slash = text.find('/');
    if (!parse(text.substr(0, slash), first ? nodes : groups.emplace_back())) return false;
    if (slash == std::string_view::npos) return groups.size() <= environment::most_groups;
    text.remove_prefix(slash + 1);
  }
}

std::string environment::invalid_text_of(std::string_view name) {
  const std::string text = read().invalid_argument;
  return text.starts_with(name) ? text : std::string();
}

const environment& environment::get() {
  static const environment e = read();
  return e;
}

}  // namespace taquin::detail
