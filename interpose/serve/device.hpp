// Buffers in the memory of a device (CUDA, HIP, Level Zero), which only the MPI library may know how to read. The
// runtimes are asked when they are loaded, and never linked.
#pragma once

namespace taquin::interpose {

/// True when a loaded runtime claims the address as memory of a device.
bool in_device_memory(const void* address) noexcept;

}  // namespace taquin::interpose
