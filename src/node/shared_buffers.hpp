// Buffers of the program that the ranks of a node can map: this process's own, found by address, and views of others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "node/mapping.hpp"

namespace taquin::detail {

/// Where data lie, for a process of the same node. Plain data, as long as what a line of a channel carries.
struct buffer_place {
  mapping_key key{};
  std::uint64_t offset = 0;  ///< from the beginning of the mapping's data
};

/// The place of `bytes` bytes of this process, if all of them lie in one of its shared buffers. Local.
std::optional<buffer_place> find_shared(const void* data, std::size_t bytes) noexcept;

/// The address at which this process sees another's buffer; null when it cannot be mapped. It may be written only with
/// the owner's knowledge. Views are kept until their owners have freed the buffers.
std::byte* view_shared(const buffer_place& place, std::size_t bytes) noexcept;

}  // namespace taquin::detail
