// Datatyped copies inside one process.
#pragma once

#include <cstddef>

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Packs `count` elements at `from` into `to`, which takes count·e.size bytes.
void pack(const std::byte* from, count_t count, const element& e, std::byte* to);
/// The reverse.
void unpack(const std::byte* from, std::byte* to, count_t count, const element& e);
/// Packs `rows` rows of `count` elements, each `stride` bytes after the one before; unpack_rows is the reverse.
void pack_rows(const std::byte* from, count_t stride, count_t count, count_t rows, const element& e, std::byte* to);
void unpack_rows(const std::byte* from, std::byte* to, count_t stride, count_t count, count_t rows, const element& e);
/// Packs the bytes from `skip` to `skip + bytes` of the output of pack(); they may begin and end inside an element.
/// unpack_range is the reverse. If `in_ranges(e)` is false the whole block is packed into memory from the heap.
void pack_range(const std::byte* from, count_t count, const element& e, count_t skip, count_t bytes, std::byte* to);
void unpack_range(const std::byte* from, std::byte* to, count_t count, const element& e, count_t skip, count_t bytes);
/// Unpacks the first `bytes` of pack()'s output into `count` elements: all of them, or fewer.
void unpack_first(const std::byte* from, count_t bytes, std::byte* to, count_t count, const element& e);
/// True when the datatype is decoded, so that parts of an element can be copied.
bool in_ranges(const element& e);
/// Copies `count` elements of `e` at `from` to elements of `f` at `to`: the same number of bytes, any two types.
void typed_copy(const std::byte* from, count_t count, const element& e, std::byte* to, count_t to_count,
                const element& f);

}  // namespace taquin::detail
