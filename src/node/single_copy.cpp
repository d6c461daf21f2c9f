#include "node/single_copy.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

using copier = decltype(&process_vm_readv);

int copy(copier call, pid_t process, std::uint64_t address, std::byte* next, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec here{next, bytes};
    const iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
    const ssize_t copied = call(process, &here, 1, &there, 1, 0);
    if (copied < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (copied == 0) return EFAULT;
    next += copied;
    address += static_cast<std::uint64_t>(copied);
    bytes -= as_size(copied);
  }
  return 0;
}

bool is_slow(const remote_part& p) noexcept {
  return p.bytes > short_copy && is_slow_to_copy(reinterpret_cast<std::uintptr_t>(p.to), p.address);
}

// Many parts in each call of the kernel; one by one where they are `slow`, or where a call fails, which shows why.
template <class Slow, class One>
int copy_all(copier call, pid_t process, std::span<const remote_part> parts, Slow slow, One one) noexcept {
  constexpr std::size_t most = 64;
  std::array<iovec, most> here;
  std::array<iovec, most> there;
  while (!parts.empty()) {
    const std::size_t n = std::min(parts.size(), most);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < n; ++i) {
      here[i] = {parts[i].to, parts[i].bytes};
      there[i] = {reinterpret_cast<void*>(parts[i].address), parts[i].bytes};  // NOLINT(performance-no-int-to-ptr)
      bytes += parts[i].bytes;
    }
    const ssize_t copied = slow(parts.first(n)) ? -1 : call(process, here.data(), n, there.data(), n, 0);
    if (copied != static_cast<ssize_t>(bytes))
      for (const remote_part& part : parts.first(n))
        if (const int code = one(part); code != 0) return code;
    parts = parts.subspan(n);
  }
  return 0;
}

// Through memory that begins at the same offset in a page as the source.
int copy_through_buffer(pid_t process, const remote_part& part) noexcept {
  constexpr std::size_t page_bytes = 4096;
  constexpr std::size_t most = 4 * page_bytes;
  alignas(page_bytes) std::array<std::byte, most + page_bytes> memory;
  std::byte* const buffer = memory.data() + part.address % page_bytes;
  for (std::size_t done = 0; done < part.bytes; done += most) {
    const std::size_t n = std::min(most, part.bytes - done);
    if (const int code = copy(process_vm_readv, process, part.address + done, buffer, n); code != 0) return code;
    copy_bytes(static_cast<std::byte*>(part.to) + done, buffer, n);
  }
  return 0;
}

}  // namespace

int single_copy(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept {
  const remote_part part{address, to, bytes};
  if (is_slow(part)) return copy_through_buffer(process, part);
  return copy(process_vm_readv, process, address, static_cast<std::byte*>(to), bytes);
}

int single_copy_back(pid_t process, const void* data, std::uint64_t address, std::size_t bytes) noexcept {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(data));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return copy(process_vm_writev, process, address, from, bytes);
}

int single_copy(pid_t process, std::span<const remote_part> parts) noexcept {
  return copy_all(
      process_vm_readv, process, parts, [](auto some) { return std::ranges::any_of(some, is_slow); },
      [&](const remote_part& part) { return single_copy(process, part.address, part.to, part.bytes); });
}

int single_copy_back(pid_t process, std::span<const remote_part> parts) noexcept {
  return copy_all(
      process_vm_writev, process, parts, [](auto) { return false; },
      [&](const remote_part& part) { return single_copy_back(process, part.to, part.address, part.bytes); });
}

// Once in a process.
void admit_siblings() noexcept {
  static const bool admitted = [] {
    const int file = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char scope = '0';
    const bool known = read(file, &scope, 1) == 1;
    close(file);
    return known && scope == '1' && prctl(PR_SET_PTRACER, static_cast<unsigned long>(getppid()), 0, 0, 0) == 0;
  }();
  static_cast<void>(admitted);
}

}  // namespace taquin::detail
