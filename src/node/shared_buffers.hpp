// Buffers of the program that the ranks of a node can map, or have mapped: this process's own, found by address, and
// views of others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "node/mapping.hpp"

namespace taquin::detail {

/// Where data lie, for a process of the same node. Plain data, no longer than the payload of a channel's mailbox.
struct buffer_place {
  mapping_key key{};
  std::uint64_t offset = 0;  ///< from the beginning of the mapping's data

  [[nodiscard]] bool known() const noexcept { return key.token != 0; }
  /// Every process of the node can map the memory. Memory of another library is seen only where that has mapped it.
  [[nodiscard]] bool for_all() const noexcept { return key.file >= 0; }
};

/// The place of `bytes` bytes of this process, if all of them lie in one of its shared buffers. Local.
std::optional<buffer_place> find_shared(const void* data, std::size_t bytes) noexcept;

/// Counts a block that is sent from there to one of `readers` ranks. False for the first two of each: a reader then
/// copies it by the kernel in less time than it needs to map the buffer. Local.
bool worth_mapping(const buffer_place& place, int readers) noexcept;

/// The address at which this process sees another's buffer; null when it cannot be mapped. It may be written only with
/// the owner's knowledge. Views are kept until their owners have freed the buffers.
std::byte* view_shared(const buffer_place& place, std::size_t bytes) noexcept;

/// Memory that another library has mapped into several processes of the node: where this process sees it, and a number
/// by which all of these know the same memory.
struct common_memory {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t token = 0;
};
/// From now on such memory is known as taquin's own buffers are, until it is forgotten: as this process's own (`own`),
/// or as a view of another's. Local. Throws std::bad_alloc.
void know_common(const common_memory& memory, bool own);
void forget_common(std::uint64_t token) noexcept;

}  // namespace taquin::detail
