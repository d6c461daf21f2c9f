#include "c/option_fields.hpp"

#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <cstring>
#include <utility>

#include "base/size_text.hpp"
#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// ---- TAQUIN_Options, its initializer and the values of choices agree with options.def. ----

#define TAQUIN_OPTION_VALUE(OPTION, WORD, C) static_assert((C) == static_cast<int>(option_types::OPTION::WORD), #C);
#include "base/options.def"

constexpr TAQUIN_Options defaults = TAQUIN_OPTIONS_INIT;

constexpr bool is_default(const char* value, std::string_view given) { return value == nullptr || value == given; }
constexpr bool is_default(const int* value, std::nullptr_t) { return value == nullptr && defaults.node_count == 0; }
constexpr bool is_default(std::size_t value, std::size_t given) { return value == given; }
constexpr bool is_default(int value, int given) { return value == given; }
constexpr bool is_default(double value, int given) { return value == given; }

// The struct that the list describes, field by field.
struct described {
  size_t size;
#define TAQUIN_FIELD_text(NAME) const char* NAME
#define TAQUIN_FIELD_bytes(NAME) size_t NAME
#define TAQUIN_FIELD_number(NAME) int NAME
#define TAQUIN_FIELD_base(NAME) int NAME
#define TAQUIN_FIELD_list(NAME) \
  int node_count;               \
  const int* NAME
#define TAQUIN_FIELD_flag(NAME) int NAME
#define TAQUIN_FIELD_choice(NAME) int NAME
#define TAQUIN_FIELD_seconds(NAME) double NAME
#define TAQUIN_FIELD_part(NAME) double NAME
#define TAQUIN_OPTION(NAME, FIELD, KIND, ...) TAQUIN_FIELD_##KIND(NAME);
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, KIND, ...) TAQUIN_FIELD_##KIND(NAME);
#include "base/options.def"
};
static_assert(sizeof(described) == sizeof(TAQUIN_Options));
#define TAQUIN_OPTION(NAME, FIELD, KIND, DEFAULT, ...)                                             \
  static_assert(offsetof(described, NAME) == offsetof(TAQUIN_Options, NAME), #NAME);               \
  static_assert(std::is_same_v<decltype(described::NAME), decltype(TAQUIN_Options::NAME)>, #NAME); \
  static_assert(is_default(defaults.NAME, DEFAULT), #NAME);
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, KIND, DEFAULT, WORDS)                                   \
  static_assert(offsetof(described, NAME) == offsetof(TAQUIN_Options, NAME), #NAME);               \
  static_assert(std::is_same_v<decltype(described::NAME), decltype(TAQUIN_Options::NAME)>, #NAME); \
  static_assert(is_default(defaults.NAME, DEFAULT), #NAME);
#include "base/options.def"

// ---- Values, C to C++. ----

void take(const option_row&, const TAQUIN_Options&, const char* given, std::string& value) {
  if (given != nullptr) value = given;
}
void take(const option_row&, const TAQUIN_Options&, std::size_t given, std::size_t& value) { value = given; }
void take(const option_row&, const TAQUIN_Options&, int given, int& value) { value = given; }
void take(const option_row&, const TAQUIN_Options&, int given, bool& value) { value = given != 0; }
void take(const option_row&, const TAQUIN_Options&, int given, std::optional<int>& value) {
  value = given != 0 ? std::optional<int>(given) : std::nullopt;
}
void take(const option_row&, const TAQUIN_Options& all, const int* given, std::vector<int>& value) {
  if (all.node_count < 0 || (all.node_count > 0 && given == nullptr))
    throw usage_error(fmt::format("{} nodes without their sizes", all.node_count), MPI_ERR_ARG);
  value.assign(given, given + all.node_count);
}
template <class Choice>
requires std::is_enum_v<Choice>
void take(const option_row& row, const TAQUIN_Options&, int given, Choice& value) {
  if (!in_range(row, given))
    throw usage_error(fmt::format("{} must be between {} and {}, got {}", row.name, row.least, row.most, given),
                      MPI_ERR_ARG);
  value = static_cast<Choice>(given);
}
void take(const option_row& row, const TAQUIN_Options&, double given, time_limit& value) {
  if (!in_range(row, time_limit(given)))
    throw usage_error(fmt::format("{} must be ≥ 0 seconds, got {}", row.name, given), MPI_ERR_ARG);
  value = given;
}

// ---- C++ to C. ----

const char* give(TAQUIN_Options&, const std::string& value) { return value.c_str(); }
const int* give(TAQUIN_Options& all, const std::vector<int>& value) {
  all.node_count = static_cast<int>(value.size());
  return value.empty() ? nullptr : value.data();
}
double give(TAQUIN_Options&, time_limit value) { return value; }
int give(TAQUIN_Options&, const std::optional<int>& value) { return value.value_or(0); }
template <class Value>
requires(std::is_arithmetic_v<Value> || std::is_enum_v<Value>) auto give(TAQUIN_Options&, Value value) {
  if constexpr (std::is_enum_v<Value> || std::same_as<Value, bool>)
    return static_cast<int>(value);
  else
    return value;
}

// ---- Hints. ----

[[noreturn]] void refuse_hint(const option_row& row, const char* text, const char* what) {
  throw usage_error(fmt::format("hint {} is '{}', not {}", row.hint, text, what), MPI_ERR_INFO_VALUE);
}

template <class Number>
void parse(const option_row& row, const char* text, Number& number) {
  const char* end = text + std::strlen(text);
  const auto [stop, failed] = std::from_chars(text, end, number);
  if (failed != std::errc{} || stop != end) refuse_hint(row, text, "a number");
}

void read(const option_row&, const char* text, std::string& value) { value = text; }
void read(const option_row& row, const char* text, std::size_t& value) {
  const std::string_view written = text;
  const auto [bytes, invalid_text] = read_size(written);
  if (invalid_text != nullptr) refuse_hint(row, text, "a size such as 65536, 64K or 50M");
  value = as_size(bytes);
}
void read(const option_row& row, const char* text, std::vector<int>& value) {
  std::vector<int> numbers;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string one(rest.substr(0, comma));
    parse(row, one.c_str(), numbers.emplace_back());
    rest.remove_prefix(comma);
    if (rest == ",") refuse_hint(row, text, "numbers with commas between them");
    rest.remove_prefix(rest.empty() ? 0 : 1);
  }
  value = std::move(numbers);
}
template <class Value>
void read(const option_row& row, const char* text, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    if (const auto word = value_of(row, text)) {
      value = static_cast<Value>(*word);
      return;
    }
  }
  decltype(give(std::declval<TAQUIN_Options&>(), value)) number{};
  parse(row, text, number);
  take(row, {}, number, value);
}

}  // namespace

owned_options from_c(const TAQUIN_Options& given) {
  owned_options o;
#define TAQUIN_OPTION(NAME, ...) take(option_rows::NAME, given, given.NAME, o.NAME);
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, ...) o.NAME = given.NAME;
#include "base/options.def"
  return o;
}

TAQUIN_Options to_c(const owned_options& o) {
  TAQUIN_Options all = defaults;
#define TAQUIN_OPTION(NAME, ...) all.NAME = give(all, o.NAME);
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, ...) all.NAME = o.NAME;
#include "base/options.def"
  return all;
}

void read_hint(const option_row& row, const char* text, owned_options& into) {
#define TAQUIN_OPTION(NAME, ...) \
  if (row.name == option_rows::NAME.name) return read(row, text, into.NAME);
#include "base/options.def"
}

}  // namespace taquin::detail
