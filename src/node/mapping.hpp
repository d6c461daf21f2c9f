// Memory that processes of one machine map together: the only place where taquin makes any. It has no name in any file
// system. So nothing of it remains after a process is killed, and a full or missing /dev/shm does not matter. Its uses
// and their rules: docs/internals/node-memory.md.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace taquin::detail {

/// How another process finds the memory: by its owner's process and file descriptor. The token distinguishes it from
/// any other file with these numbers. Plain data, for messages.
struct mapping_key {
  std::uint64_t token = 0;
  std::uint64_t bytes = 0;
  std::int32_t process = 0;
  std::int32_t file = -1;  ///< -1: there is no memory
};

/// One process's view of such memory. Move-only; empty where there is none.
class mapping {
 public:
  /// Bytes before the data: the key's token and a word for the processes that share the memory.
  static constexpr std::size_t header = 64;

  mapping() noexcept = default;
  mapping(mapping&& other) noexcept;
  mapping& operator=(mapping&& other) noexcept;
  ~mapping();

  /// When the system allocates the pages.
  enum class pages : std::uint8_t {
    in_parts,   ///< by take(), before they are written or read; all of them where the system has no such call
    as_written  ///< each when it is first written, as malloc does, or by take() of its owner
  };
  /// New memory of `bytes` bytes after the header, all zero. Others can attach while the key is open. Empty when the
  /// system gives none.
  static mapping create(std::size_t bytes, mapping_key& key, pages when);
  /// The memory behind a key that another process of this machine has made. Empty when it cannot be reached.
  static mapping attach(const mapping_key& key) noexcept;
  /// Allocates the pages of these bytes of memory that was made `in_parts`. False if the system has none left.
  [[nodiscard]] static bool take(std::byte* from, std::size_t bytes) noexcept;
  /// Allocates these bytes of the data in the owner's file: missing memory would cause a signal at the first access.
  /// False if the system has none left.
  [[nodiscard]] static bool take(const mapping_key& key, std::size_t from, std::size_t bytes) noexcept;
  /// Gives the system their whole pages back. They are zero afterwards.
  static void give_back(const mapping_key& key, std::size_t from, std::size_t bytes) noexcept;
  /// Closes the owner's file: no process can attach any more. Mappings stay.
  static void close(mapping_key& key) noexcept;

  [[nodiscard]] bool empty() const noexcept { return memory_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::byte* data() const noexcept { return memory_ + header; }
  /// Zero at first.
  [[nodiscard]] std::atomic<std::uint64_t>& word() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + sizeof(mapping_key::token));
  }
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // so that it works between processes

 private:
  mapping(std::byte* memory, std::size_t size) noexcept : memory_(memory), size_(size) {}
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;  // without the header
};

/// False where a limit of the process leaves less address space than the MPI library and the program may still need. A
/// rank then does without memory of taquin that saves time alone: MPI libraries end the job when theirs runs out.
bool leaves_address_space() noexcept;

/// Closes an owner's file in its destructor, after an error too.
class mapping_closer {
 public:
  explicit mapping_closer(mapping_key& key) noexcept : key_(key) {}
  mapping_closer(const mapping_closer&) = delete;
  mapping_closer& operator=(const mapping_closer&) = delete;
  ~mapping_closer() { mapping::close(key_); }

 private:
  mapping_key& key_;
};

/// A number that is the same for processes that can share memory and different for others: of machine, host name, and
/// the namespaces that containers separate.
std::uint64_t host_id();

}  // namespace taquin::detail
