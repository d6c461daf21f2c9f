// That options.def and taquin::options agree.
#include "base/option_table.hpp"

#include "taquin/redistribute.hpp"

namespace taquin::detail {

namespace {

template <option_kind Kind, class Field>
constexpr bool has_kind() {
  switch (Kind) {
    case option_kind::text:
      return std::is_same_v<Field, std::string_view>;
    case option_kind::bytes:
      return std::is_same_v<Field, std::size_t>;
    case option_kind::number:
      return std::is_same_v<Field, int>;
    case option_kind::base:
      return std::is_same_v<Field, std::optional<int>>;
    case option_kind::list:
      return std::is_same_v<Field, std::span<const int>>;
    case option_kind::flag:
      return std::is_same_v<Field, bool>;
    case option_kind::choice:
      return std::is_enum_v<Field>;
    case option_kind::seconds:
      return std::is_same_v<Field, time_limit>;
  }
  return false;
}

constexpr bool is_default(std::span<const int> value, std::nullptr_t) { return value.empty(); }
constexpr bool is_default(std::optional<int> value, int given) { return value.value_or(0) == given; }
template <class Value, class Given>
constexpr bool is_default(Value value, Given given) {
  return value == static_cast<Value>(given);
}

// From 0 to the largest in order.
constexpr bool has_values(const option_row& row) {
  if (row.kind != option_kind::choice) return values_of(row).empty();
  int next = 0;
  for (const option_value& v : values_of(row))
    if (v.value != next++) return false;
  return row.least == 0 && next == row.most + 1;
}

#define TAQUIN_OPTION(NAME, FIELD, KIND, DEFAULT, ...)                             \
  static_assert(has_kind<option_kind::KIND, decltype(options().FIELD)>(), #FIELD); \
  static_assert(is_default(options{}.FIELD, DEFAULT), #FIELD);                     \
  static_assert(has_values(option_rows::NAME), #NAME);
#define TAQUIN_REDISTRIBUTION_OPTION(NAME, KIND, DEFAULT, WORDS)                       \
  static_assert(std::is_same_v<decltype(redistribute_options().NAME), double>, #NAME); \
  static_assert(is_default(redistribute_options{}.NAME, DEFAULT), #NAME);
#include "base/options.def"

// A structured binding has as many names as there are fields: these are all, and as many as the list has.
[[maybe_unused]] void no_other_field(const options& all) {
  [[maybe_unused]] const auto& [algorithm, memory, in_flight, nodes, check, tune, progress, on_timeout, timeout, bruck,
                                two_phase, multilevel, node_aggregated, hierarchical_factor, in_place, in_place_phases,
                                stats] = all;
  [[maybe_unused]] const auto& [radix, layout] = bruck;
  [[maybe_unused]] const auto& [inner] = two_phase;
  [[maybe_unused]] const auto& [levels] = multilevel;
  [[maybe_unused]] const auto& [leaders] = node_aggregated;
  [[maybe_unused]] const auto& [ports] = hierarchical_factor;
  [[maybe_unused]] const auto& [scratch_sends] = in_place;
  [[maybe_unused]] const auto& [aux_parts, aux_heap, sparse_requests] = in_place_phases;
  constexpr std::size_t fields = 19;
  static_assert(option_table.size() == fields);
}

}  // namespace

}  // namespace taquin::detail
