// Blocks of each rank for each, which travel with the records of an agreement in log rounds (call/agree.cpp). A block
// is forwarded as in Bruck's exchange: the digits of its distance, (destination − rank) mod p, are its hops, the lowest
// first. Each is a message of the agreement, so blocks need no message of their own. Pure: messages are the caller's.
//
// A message of digit j in a round of weight w has one block at most for each distance whose digit at w is j. So a limit
// for each block bounds every message, and the blocks that a rank forwards, whatever ranks send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/arrays.hpp"
#include "base/raw_buffer.hpp"
#include "exchange/properties.hpp"
#include "node/block_step.hpp"

namespace taquin::detail {

class forwarded_blocks final : public block_step {
  struct head {  // of a block; its bytes follow, up to a multiple of 8
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::uint64_t bytes = 0;
    [[nodiscard]] std::size_t with_data() const noexcept { return with_head(bytes); }
  };

 public:
  /// Bytes of a message of an agreement at most: ranks that have no blocks can receive it as well.
  static constexpr std::size_t most_message = std::size_t{16} << 10U;

  /// The longest block among so many ranks; 0: there are too many of them.
  static std::size_t most_bytes_of(int ranks) noexcept;
  /// Bytes from its memory.
  static std::size_t footprint(int ranks) noexcept;
  /// Bytes of a block in a message.
  static constexpr std::size_t with_head(std::size_t bytes) noexcept { return sizeof(head) + (bytes + 7) / 8 * 8; }

  forwarded_blocks(int rank, int ranks, std::pmr::memory_resource* memory);

  [[nodiscard]] std::size_t most_bytes() const noexcept override { return most_bytes_of(ranks_); }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int reader(int i) const noexcept override { return i; }
  std::byte* payload(std::size_t bytes) override;
  [[nodiscard]] std::span<const std::byte> block(int from) const noexcept override;
  [[nodiscard]] std::uint64_t rounds() const noexcept override { return rounds_; }
  [[nodiscard]] std::uint64_t messages() const noexcept override { return messages_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept override { return bytes_sent_; }

  /// A round begins, of this weight: the messages of the one before have been sent.
  void begin_round(int weight) noexcept;
  /// The message of a digit: the record, and the blocks that take this hop. It stays as it is in the round.
  std::span<const std::byte> load(std::span<const std::byte> record, int digit) noexcept;
  /// Where the next message is received, and that it has been.
  [[nodiscard]] std::span<std::byte> buffer() noexcept { return {held_.data() + used_, most_message}; }
  void unload(std::span<const std::byte> message) noexcept;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct amounts {
    std::size_t ranks = 0;
    std::size_t sent = 0;    // bytes of a round's messages
    std::size_t held = 0;    // bytes of this rank's blocks, and of all that it receives
    std::size_t blocks = 0;  // in these
  };
  static amounts amounts_of(int ranks) noexcept;
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const amounts& n) {
    each(&forwarded_blocks::held_, n.held);
    each(&forwarded_blocks::sending_, n.sent);
    each(&forwarded_blocks::at_, at_most{n.blocks});
    each(&forwarded_blocks::arrived_, n.ranks);
  }
  [[nodiscard]] head head_at(std::size_t at) const noexcept;
  void note(std::size_t at);

  int rank_;
  int ranks_;
  int radix_;
  int weight_ = 1;
  int next_ = 0;                             // the rank of the next block
  std::size_t used_ = 0;                     // of held_
  std::size_t loaded_ = 0;                   // of sending_
  raw_buffer held_;                          // own blocks, then received messages
  raw_buffer sending_;                       // the messages of a round
  std::pmr::vector<std::uint32_t> at_;       // where blocks are in held_
  std::pmr::vector<std::uint32_t> arrived_;  // where each rank's block for this one is
  std::uint64_t rounds_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace taquin::detail
