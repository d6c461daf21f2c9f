// The properties of each option in options.def, and options that own their texts and lists.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "taquin/options.hpp"

namespace taquin::detail {

enum class option_kind : std::uint8_t { text, bytes, number, base, list, flag, choice, seconds };
/// How the values of ranks must relate.
enum class option_ranks : std::uint8_t { identical, smallest, given, own };

/// One line of options.def.
struct option_row {
  std::string_view name;
  const char* hint;  ///< the key of an MPI_Info
  option_kind kind;
  int least;
  int most;
  option_ranks ranks;
  std::string_view part;  ///< what it belongs to
  const char* words;      ///< for the help of the command
};

/// The rows by name: option_rows::radix.
namespace option_rows {
#define TAQUIN_OPTION(NAME, FIELD, KIND, DEFAULT, LEAST, MOST, RANKS, BELONGS, WORDS)    \
  inline constexpr option_row NAME{#NAME, "taquin_" #NAME,     option_kind::KIND, LEAST, \
                                   MOST,  option_ranks::RANKS, #BELONGS,          WORDS};
#include "base/options.def"
}  // namespace option_rows

/// All rows, in the order of TAQUIN_Options.
inline constexpr auto option_table = std::to_array<option_row>({
#define TAQUIN_OPTION(NAME, ...) option_rows::NAME,
#include "base/options.def"
});

/// A value of a choice.
struct option_value {
  std::string_view option;
  std::string_view word;
  int value;
};

/// The types of the fields by name.
namespace option_types {
#define TAQUIN_OPTION(NAME, FIELD, ...) using NAME = decltype(options().FIELD);
#include "base/options.def"
}  // namespace option_types

/// The values of all choices, those of one together and in order from 0.
inline constexpr auto option_values = std::to_array<option_value>({
#define TAQUIN_OPTION_VALUE(OPTION, WORD, C) {#OPTION, #WORD, static_cast<int>(option_types::OPTION::WORD)},
#include "base/options.def"
});

/// The values of one choice; none of another kind.
constexpr std::span<const option_value> values_of(const option_row& row) noexcept {
  std::size_t first = 0;
  while (first < option_values.size() && option_values[first].option != row.name) ++first;
  std::size_t last = first;
  while (last < option_values.size() && option_values[last].option == row.name) ++last;
  return std::span(option_values).subspan(first, last - first);
}

/// The number of a choice's word, if it is one.
constexpr std::optional<int> value_of(const option_row& row, std::string_view text) noexcept {
  for (const option_value& v : values_of(row))
    if (v.word == text) return v.value;
  return std::nullopt;
}

/// The value is within the range of its row.
constexpr bool in_range(const option_row& row, int value) noexcept { return value >= row.least && value <= row.most; }
constexpr bool in_range(const option_row& row, std::optional<int> value) noexcept {
  return !value || in_range(row, *value);
}
constexpr bool in_range(const option_row& row, time_limit seconds) noexcept {
  return seconds >= static_cast<float>(row.least);
}
/// Any text, size, flag and list is; the values of lists depend on the communicator.
template <class Value>
constexpr bool in_range(const option_row& row, const Value& value) noexcept {
  if constexpr (std::is_enum_v<Value>) return in_range(row, static_cast<int>(value));
  return true;
}

/// A type that owns the referent of a field of taquin::options.
template <class Field>
struct owner_of {
  using type = Field;
};
template <>
struct owner_of<std::string_view> {
  using type = std::string;
};
template <>
struct owner_of<std::span<const int>> {
  using type = std::vector<int>;
};

/// Options that own their texts and lists, so that they may outlive the caller's.
struct owned_options {
#define TAQUIN_OPTION(NAME, FIELD, ...) owner_of<option_types::NAME>::type NAME{own(options{}.FIELD)};
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, KIND, DEFAULT, WORDS) double NAME{DEFAULT};
#include "base/options.def"

  /// Those of exchanges, which refer to this object.
  [[nodiscard]] options view() const noexcept {
    options o;
#define TAQUIN_OPTION(NAME, FIELD, ...) o.FIELD = NAME;
#include "base/options.def"
    return o;
  }

 private:
  template <class Field>
  static typename owner_of<Field>::type own(const Field& value) {
    return typename owner_of<Field>::type(value.begin(), value.end());
  }
  template <class Field>
  requires std::is_same_v<typename owner_of<Field>::type, Field>
  static Field own(const Field& value) { return value; }
};

}  // namespace taquin::detail
