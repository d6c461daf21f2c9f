// An array of a migration, as its datatype describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/invalid_argument.hpp"
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

}  // namespace taquin::detail
