#include "plan/plain_call.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "base/option_table.hpp"

namespace taquin::detail {

namespace {

// The length of the second is known at compile time.
bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), b.size()) == 0;
}
bool same(std::span<const int> a, std::span<const int> b) { return std::ranges::equal(a, b); }
template <class Value>
bool same(const Value& a, const Value& b) {
  return a == b;
}

// The options allow a step: the algorithm is "auto" or that of a step on a node, options of a call are in their range,
// and all others have their defaults.
template <const option_row& row, class Value>
bool prints_nothing(const Value& value, const Value& by_default) {
  constexpr bool of_call = row.part == "call";
  constexpr bool is_name = row.name == option_rows::algorithm.name;
  if constexpr (of_call) return in_range(row, value);
  if constexpr (is_name) return same(value, by_default) || value == shared_memory.name;
  return same(value, by_default);
}

}  // namespace

bool plain_environment() {
  static const bool plain = [] {
    const environment& e = environment::get();
    return (e.algorithm.empty() || e.algorithm == shared_memory.name) && !e.check && e.invalid_argument.empty();
  }();
  return plain;
}

bool by_name(const options& o) {
  static constexpr options defaults;
  return !same(o.algorithm, defaults.algorithm) || !environment::get().algorithm.empty();
}

bool plain(const options& o) {
  static constexpr options defaults;
#define TAQUIN_OPTION(NAME, FIELD, ...) \
  if (!prints_nothing<option_rows::NAME>(o.FIELD, defaults.FIELD)) return false;
#include "base/options.def"
  return true;
}

std::uint32_t choices_of(const exchange& x, bool named) noexcept {
  return 1 + static_cast<std::uint32_t>(x.kind) + (x.in_place ? 8U : 0U) + (x.symmetric ? 16U : 0U) +
         (named ? 32U : 0U);
}

}  // namespace taquin::detail
