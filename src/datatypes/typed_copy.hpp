// Datatyped copies inside one process.
#pragma once

#include <cstddef>

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Packs `count` elements at `from` into `to`, which takes count·e.size bytes.
void pack(const std::byte* from, count_t count, const element& e, std::byte* to);
/// The reverse.
void unpack(const std::byte* from, std::byte* to, count_t count, const element& e);
/// Copies `count` elements of `e` at `from` to elements of `f` at `to`: the same number of bytes, any two types.
void typed_copy(const std::byte* from, count_t count, const element& e, std::byte* to, count_t to_count,
                const element& f);

}  // namespace taquin::detail
