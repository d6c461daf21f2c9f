// The shapes of the exchanges at each level: bounds that follow from the shape of the whole exchange.
#pragma once

#include <string_view>

#include "algorithms/algorithm.hpp"
#include "exchange/shape.hpp"

namespace taquin::detail {

/// options::levels from some level inwards: the algorithm of that level, the options with its radix where one is named
/// ("bruck_v:4"), and the names from the next level inwards.
const algorithm& first_of(std::string_view names);
options options_of_first(const options& o, std::string_view names) noexcept;
std::string_view after_first(std::string_view names) noexcept;
/// The level's algorithm is "auto".
bool is_automatic(std::string_view names) noexcept;

/// The same exchange where all its ranks are one group: by the groups inside that.
shape one_group(const shape& s) noexcept;
/// Upper bounds of the exchange inside a group of `size` ranks; its nodes are the groups inside.
shape inside_of(const shape& s, int size) noexcept;
/// Upper bounds of the exchange in one column.
shape column_of(const shape& s) noexcept;

}  // namespace taquin::detail
