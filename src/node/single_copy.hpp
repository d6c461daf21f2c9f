// Copies out of another process's memory by the kernel, without the help of that process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace taquin::detail {

/// A part of another process's memory, and the target of its copy.
struct remote_part {
  std::uint64_t address = 0;
  void* to = nullptr;
  std::size_t bytes = 0;
};

/// Copies `bytes` from `address` in `process` to `to`. Returns 0, or the system's error number (EPERM: not permitted,
/// EFAULT: no such memory, ESRCH: no such process).
int single_copy(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept;

/// The reverse: from `data` here to `address` in `process`.
int single_copy_back(pid_t process, const void* data, std::uint64_t address, std::size_t bytes) noexcept;

/// single_copy() for several parts.
int single_copy(pid_t process, std::span<const remote_part> parts) noexcept;

/// single_copy_back() for several parts, from `to` here.
int single_copy_back(pid_t process, std::span<const remote_part> parts) noexcept;

/// Where the kernel lets only parents look into processes (Yama), admits the processes that this one's parent has
/// started: on a node, an MPI job's ranks. Does nothing elsewhere.
void admit_siblings() noexcept;

}  // namespace taquin::detail
