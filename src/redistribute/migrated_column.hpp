// An array of a migration, as its datatype describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "base/invalid_argument.hpp"
#include "base/unit_column.hpp"
#include "exchange/shape.hpp"
#include "taquin/exchange.hpp"
#include "taquin/migrate.hpp"

namespace taquin::detail {

/// Items of a rank.
inline constexpr std::size_t most_items = std::numeric_limits<std::int32_t>::max() - 1;

/// An array of the migration.
struct migrated_column {
  element item;  ///< of which an item has `length`; all of it if there are no gaps
  count_t length = 1;
  std::size_t bytes = 0;   ///< of an item, data alone
  std::size_t stride = 0;  ///< from an item to the next
};

/// The reason why the items of an array cannot migrate, if any.
std::optional<invalid_argument> check_item(const migrated_array& a);

migrated_column migrated_column_of(const migrated_array& a);

/// Arrays that move through one exchange.
struct joined_columns {
  std::size_t arrays = 1;  ///< from the first one on, those without data included
  std::size_t joined = 0;  ///< those of them with data; 0: one array moves alone, by bytes or by elements of its type
};

/// The first arrays that move through one exchange with this memory, in which a unit is an item of all of them; they
/// are filled into `joined`. `s` is the shape of an exchange of one of them. Of agreed values, but for `data`.
joined_columns join(std::span<const migrated_column> columns, std::span<void* const> data, const shape& s,
                    std::size_t allowed, std::span<unit_column> joined);

}  // namespace taquin::detail
