// Buffers in the memory of a device (CUDA, HIP, Level Zero), which only the MPI library may know how to read. The
// runtimes are asked when they are loaded, and never linked.
#pragma once

#include <cstddef>

#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// True when a runtime that this process has loaded claims the first block that is not empty as memory of a device.
///
bool in_device_memory(const blocks& side, std::size_t peers) noexcept;

/// This process has loaded a runtime. Other processes of the program may have none.
bool has_device_runtime() noexcept;

/// Searches for runtimes now, not in the first call.
void find_devices() noexcept;

}  // namespace taquin::interpose
