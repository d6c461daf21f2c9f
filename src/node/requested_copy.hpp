// Copies from another rank's memory where the kernel refuses them: the reader requests the data from their owner.
//
// A process may forbid others to read its memory, or be forbidden to read theirs, at any time: by dropping privileges,
// by a filter of system calls. The reader then writes its request into the mailbox that the owner has written for it.
// The owner polls its mailboxes while it waits for its readers, and copies a part at a time into its payload area of
// the other buffer. No rank needs that buffer in this step after all mailboxes have arrived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "node/channel.hpp"

namespace taquin::detail {

/// Whether an error number of single_copy() says that the kernel refuses, rather than that there is no such memory or
/// no such process.
bool is_refusal(int code) noexcept;

class requested_copy {
 public:
  /// `bytes` from `address` in the memory of `owner`, which has written a mailbox for this rank in this step and waits
  /// until this rank has its data. With `back` as many bytes go from there to the owner in exchange. The mailboxes of
  /// all ranks must have arrived.
  requested_copy(channel& c, int owner, std::uint64_t address, std::size_t bytes,
                 const std::byte* back = nullptr) noexcept;

  /// The next part; valid until the next call. Empty: it is not there yet, or all have been returned. Does not wait.
  [[nodiscard]] std::span<const std::byte> next() noexcept;
  /// Bytes of the parts before the one that next() returned last.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
  [[nodiscard]] bool done() const noexcept { return done_; }

  /// Bytes of a part; 0: the channel has no room for any.
  static std::size_t part_bytes(const channel& c) noexcept;

 private:
  void post_request() noexcept;
  void end() noexcept;

  channel& c_;
  int owner_;
  std::uint64_t address_;
  std::size_t bytes_;
  const std::byte* back_;
  std::size_t offset_ = 0;
  std::size_t taken_ = 0;
  bool done_ = false;
  mailbox::kind was_;  // of the mailbox, and its data, which are there again at the end
  std::array<std::byte, mailbox::capacity> data_;
};

}  // namespace taquin::detail
