#include "harness/sizes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/size_text.hpp"
#include "base/sizes.hpp"
#include "harness/errors.hpp"

namespace taquin::harness {

namespace {

[[noreturn]] void bad_size(std::string_view text, std::string_view why) {
  throw usage(fmt::format("bad size '{}': {}; sizes are like 64, 4K, 50M", text, why));
}

}  // namespace

count_t parse_size(std::string_view text) {
  const auto [bytes, invalid_text] = detail::read_size(text);
  if (invalid_text != nullptr) bad_size(text, invalid_text);
  return bytes;
}

std::vector<count_t> parse_sizes(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return {parse_size(text)};
  const count_t first = parse_size(text.substr(0, dots));
  const count_t last = parse_size(text.substr(dots + 2));
  if (first == 0) bad_size(text, "a range starts above 0");
  if (first > last) bad_size(text, "the range is empty");
  std::vector<count_t> sizes{first};
  while (sizes.back() <= last / 2) sizes.push_back(sizes.back() * 2);
  return sizes;
}

memory_choice memory_choice::parse(std::string_view text) {
  memory_choice m;
  if (text == "unlimited") return m;
  m.limited = true;
  if (!text.ends_with('%')) {
    m.bytes = parse_size(text);
    return m;
  }
  m.relative = true;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size() - 1, m.percent);
  if (error != std::errc{} || stop != text.data() + text.size() - 1 || !(m.percent >= 0) || !std::isfinite(m.percent))
    bad_size(text, "not a percentage");
  return m;
}

std::size_t memory_choice::limit(count_t bytes_per_rank) const {
  if (!limited) return unlimited;
  if (!relative) return detail::as_size(bytes);
  return static_cast<std::size_t>(static_cast<double>(bytes_per_rank) * percent / 100);
}

}  // namespace taquin::harness
