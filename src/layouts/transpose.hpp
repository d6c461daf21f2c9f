// Permutations of pages and of an array's axes, of one rank's memory, in place and in little scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

namespace taquin::detail {

/// Moves page k of so many bytes to place target[k], along cycles; `target` is lost. `spare`: room for a page.
void permute_pages(std::byte* data, std::size_t page_bytes, std::span<std::uint32_t> target, std::byte* spare);
/// Moves page source[k] to place k: the reverse.
void gather_pages(std::byte* data, std::size_t page_bytes, std::span<std::uint32_t> source, std::byte* spare);

/// How a matrix is transposed: columns are partitioned into groups, and each group is transposed in a buffer.
struct transposition {
  std::size_t groups = 0;
  std::size_t page = 0;    ///< bytes
  std::size_t buffer = 0;  ///< bytes of a group that is transposed in one piece; larger groups are split again
  /// The scratch bytes of a matrix of so many bytes.
  [[nodiscard]] std::size_t footprint(std::size_t bytes) const noexcept;
  /// For matrices of at most so many bytes, within `memory` where that is possible.
  static transposition plan(std::size_t bytes, std::size_t element, std::size_t memory) noexcept;
};

/// Makes each of so many `rows` × `columns` matrices of elements, which follow one another at `data`, row by row, its
/// transpose. In place, local.
void transpose(std::byte* data, std::size_t matrices, std::size_t rows, std::size_t columns, std::size_t element,
               const transposition& t, std::pmr::memory_resource* memory);

/// The same for large elements: they move along cycles, with a bit for each element of a matrix.
void transpose_large(std::byte* data, std::size_t matrices, std::size_t rows, std::size_t columns, std::size_t element,
                     std::pmr::memory_resource* memory);

}  // namespace taquin::detail
