// Buffers in the memory of a device (CUDA, HIP, Level Zero), which only the MPI library may know how to read. The
// runtimes are asked when they are loaded, and never linked.
#pragma once

namespace taquin::interpose {

/// True when a loaded runtime claims the address as memory of a device.
bool in_device_memory(const void* address) noexcept;

/// True when the process has loaded a runtime, as all processes of a program do or none.
bool may_have_device_memory() noexcept;

}  // namespace taquin::interpose
