#include "redistribute/migrated_column.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/in_place/in_place_operation.hpp"
#include "base/checked.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

// Items are sorted as bytes from each one's origin to its end: data elsewhere would be left behind.
std::optional<invalid_argument> check_item(const migrated_array& a) {
  if (a.type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (a.length < 0) return invalid_argument{fmt::format("{} elements in an item", a.length), MPI_ERR_COUNT};
  const element e = element::of(a.type);
  if (e.size > 0 && (e.true_lb < 0 || e.true_lb + e.true_extent > e.extent))
    return invalid_argument{fmt::format("a datatype with data from byte {} to {} of an extent of {}: items overlap",
                                        e.true_lb, e.true_lb + e.true_extent, e.extent),
                            MPI_ERR_TYPE};
  if (!(checked(a.length) * std::max(e.size, e.extent) * static_cast<count_t>(most_items)).fits())
    return invalid_argument{fmt::format("an item of {} elements of {} bytes", a.length, e.extent), MPI_ERR_COUNT};
  return std::nullopt;
}

migrated_column migrated_column_of(const migrated_array& a) {
  const element e = element::of(a.type);
  const auto bytes = as_size(a.length * e.size);
  if (e.contiguous()) return {element::bytes(static_cast<count_t>(bytes)), 1, bytes, bytes};
  return {e, a.length, bytes, as_size(a.length * e.extent)};
}

// Memory for many items in each chunk makes up for the parts in which chunks are copied.
joined_columns join(std::span<const migrated_column> columns, std::span<void* const> data, const shape& s,
                    std::size_t allowed, std::span<unit_column> joined) {
  constexpr std::size_t least_items = 64;
  constexpr std::size_t least_part = 1024;
  joined_columns n;
  std::size_t bytes = 0;
  for (std::size_t a = 0; a < data.size() && n.joined < joined.size() && s.unit_span == 0; ++a) {
    if (columns[a].bytes == 0) continue;
    const std::size_t all = bytes + columns[a].bytes;
    const std::size_t least = in_place_operation::least(s, static_cast<int>(n.joined) + 1);
    if (allowed < least + std::max(least_items * all, least_part * (n.joined + 1))) break;
    joined[n.joined++] = {static_cast<std::byte*>(data[a]), columns[a].bytes, bytes};
    bytes = all;
    n.arrays = a + 1;
  }
  return n.joined > 1 ? n : joined_columns{};
}

}  // namespace taquin::detail
