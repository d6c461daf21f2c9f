// Memory that processes of one machine map together. It has no name in any file system, so that nothing of it stays
// behind a process that is killed, and a full or missing /dev/shm does not matter.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace taquin::detail {

/// How another process finds the memory: by its owner's process and file descriptor. The token tells it from whatever
/// else those numbers may mean elsewhere. Plain data, for messages.
struct mapping_key {
  std::uint64_t token = 0;
  std::uint64_t bytes = 0;
  std::int32_t process = 0;
  std::int32_t file = -1;  ///< -1: there is no memory
};

/// One process's view of such memory. Move-only; empty where there is none. The first `header` bytes are its own.
class mapping {
 public:
  static constexpr std::size_t header = 64;

  mapping() noexcept = default;
  mapping(mapping&& other) noexcept;
  mapping& operator=(mapping&& other) noexcept;
  ~mapping();

  /// When the system is asked for the pages.
  enum class pages : std::uint8_t {
    now,        ///< all of them: memory that is not there is an error here
    as_written  ///< each when it is first written, as malloc does
  };
  /// New memory of `bytes` bytes after the header, all zero. Others can attach while the key is open. Empty when the
  /// system gives none.
  static mapping create(std::size_t bytes, mapping_key& key, pages when);
  /// The memory behind a key that another process of this machine has made. Empty when it cannot be reached.
  static mapping attach(const mapping_key& key) noexcept;
  /// Nobody attaches any more: closes the owner's file. Mappings stay.
  static void close(mapping_key& key) noexcept;

  [[nodiscard]] bool empty() const noexcept { return memory_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::byte* data() const noexcept { return memory_ + header; }

 private:
  mapping(std::byte* memory, std::size_t size) noexcept : memory_(memory), size_(size) {}
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;  // without the header
};

/// Whether this process may make a file of so many bytes. The signal that the system sends otherwise (SIGXFSZ) ends the
/// process, so files that processes share are compared with the limit first.
[[nodiscard]] bool may_make_file(std::size_t bytes) noexcept;
/// Takes the pages of a file's first bytes now: memory that is not there would be noticed at the first access, by a
/// signal. False where it is not there.
[[nodiscard]] bool take_pages(int file, std::size_t bytes) noexcept;

/// A number that is the same for processes that can share memory and different for others: of machine, host name, and
/// the namespaces that containers separate.
std::uint64_t host_id();

}  // namespace taquin::detail
