// One exchange among ranks of one node through a channel: small blocks pass through the node's memory, large ones are
// copied once, by the receiver, out of the sender's buffer; if the kernel does not permit that, they pass through the
// node's memory in chunks.
//
// Rounds: 1, and one more for each chunk. Bytes: each block once, or twice through the node's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>

#include "base/invalid_argument.hpp"
#include "node/channel.hpp"
#include "node/requested_copy.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class shared_exchange {
 public:
  /// The least bytes of the channel's payload area that an exchange needs.
  static constexpr std::size_t least_payload = 64;
  /// Blocks up to this size pass through the payload area when it has space, even if single copy is possible: where
  /// ranks are oversubscribed a copy through the payload area costs no more than the system call of a single copy.
  static constexpr count_t most_in_payload = 16384;
  /// The same if every rank has a core of its own.
  static constexpr count_t most_in_payload_alone = 8192;
  /// The same in a plan without offers: a sender whose blocks are in the payload area completes without its receivers.
  static constexpr count_t most_in_payload_of_plan = 65536;
  /// Blocks of a plan that are offered: copied once by receivers that start soon, otherwise moved into the payload
  /// area.
  static constexpr count_t most_offered = count_t{1} << 19U;

  /// Which of these limits holds for a call on this channel.
  static count_t most_of(const channel& c) noexcept {
    return c.oversubscribed() ? most_in_payload : most_in_payload_alone;
  }

  /// Whether `bytes` more go through a payload area of `payload` bytes of which `used` are taken; then takes them.
  static bool take_payload(count_t bytes, std::size_t payload, std::size_t& used) noexcept;

  /// `x` must be valid, its types known, and outlive this. `payload` is the part of the channel's payload area that may
  /// be used, by blocks of up to `most` bytes. With `offers` longer ones are offered, on all ranks; the payload area
  /// must then have space for all blocks of each rank, and all ranks permit single copy.
  shared_exchange(const exchange& x, channel& c, std::size_t payload, count_t most, bool offers) noexcept;
  shared_exchange(const exchange& x, channel& c, std::size_t payload) noexcept
      : shared_exchange(x, c, payload, most_of(c), false) {}

  /// True when every block can be transferred this way. In place they must all fit into the payload area, because the
  /// receive blocks are written while others may still have to read. Local.
  [[nodiscard]] bool possible() const {
    const auto plain = [](const blocks& side) { return side.elements == nullptr && side.element.contiguous(); };
    const bool any_size = c_.single_copies() || chunk_bytes() > 0;
    return (any_size && !x_.in_place && plain(x_.send) && plain(x_.recv)) || possible_block_by_block();
  }

  /// The same of contiguous blocks of so many bytes, from this rank's own on: what is possible without the channel.
  static bool possible_for(std::span<const count_t> sent, bool one_buffer, bool single_copies,
                           std::size_t payload) noexcept;

  /// Forgets the exchange before.
  void reset() noexcept;
  /// Writes this rank's mailboxes and its blocks in the payload area. `choices` must be the same on all ranks. Local.
  void post(std::uint32_t choices);
  /// After all mailboxes have arrived: true when all ranks bring blocks, and the same choices (alltoall: of the same
  /// size). The same on all ranks. When it is false nothing is delivered.
  [[nodiscard]] bool agreed() const noexcept;

  /// Progresses; true when all blocks are in place and the send buffer is free. Local; does not wait. After a number of
  /// unsuccessful polls it revokes its offers.
  bool advance();
  /// The same for a caller that has seen all mailboxes, and waits.
  void finish_after_mailboxes();
  /// Waits until everything is in place and the send buffer is free.
  void finish();
  /// This rank has an error, although it took part to the end: a block that is not as long as its receive block, or
  /// memory that could not be read. Valid after the end.
  [[nodiscard]] bool failed() const noexcept { return error_.has_value(); }
  /// Its usage_error.
  [[nodiscard]] std::exception_ptr error_at_end() const;

  void account(statistics& s) const;
  [[nodiscard]] std::size_t payload_used() const noexcept { return payload_used_; }

 private:
  // One side of the exchange, with a fast path for one type and arrays of 32 bits, as most calls have.
  class quick_side {
   public:
    explicit quick_side(const blocks& side) noexcept
        : side_(side),
          counts_(side.elements == nullptr && side.displs.narrow() != nullptr ? side.counts.narrow() : nullptr),
          displs_(side.displs.narrow()) {}
    [[nodiscard]] count_t bytes(int peer) const noexcept {
      return counts_ != nullptr ? counts_[peer] * side_.element.size : side_.bytes(peer);
    }
    [[nodiscard]] std::byte* at(int peer) const noexcept {
      auto* const base = static_cast<std::byte*>(side_.base);
      return base + (counts_ != nullptr ? displs_[peer] * side_.displ_unit : side_.offset(peer));
    }

   private:
    const blocks& side_;
    const std::int32_t* counts_;
    const std::int32_t* displs_;
  };

  enum class stage : std::uint8_t { mailboxes, requesting, chunks, moved, fetching, done };

  /// How a block is transferred when `used` bytes of the payload area are taken; takes its part of the payload area.
  /// Blocks are visited in the order of `peer_at`.
  [[nodiscard]] mailbox::kind path_of(int reader, std::size_t& used) const noexcept;
  /// This rank's k-th peer; the 0th is the rank itself.
  [[nodiscard]] int peer_at(int k) const noexcept {
    const int peer = c_.rank() + k;
    return peer < c_.size() ? peer : peer - c_.size();
  }
  /// In place the own block must be saved before it is overwritten: it is transferred like the others.
  [[nodiscard]] int first() const noexcept { return x_.in_place ? 0 : 1; }
  [[nodiscard]] count_t chunk_bytes() const noexcept;
  [[nodiscard]] bool possible_block_by_block() const;
  void write(int reader);
  void read_mailboxes();
  void deliver();
  void deliver_or_fail(int writer);
  void deliver_own();
  void deliver_from(int writer);
  void deliver_shared(int writer, const mailbox& box, count_t bytes);
  void deliver_bytes(int writer, const std::byte* from, count_t bytes);
  void fetch(int writer, std::uint64_t address, count_t bytes);
  bool deliver_what_is_requested();
  void deliver_requested(int writer, count_t begin, std::span<const std::byte> part);
  void continue_after_mailboxes();
  void take_offer(int writer);
  bool take_what_was_moved();
  bool has_taken(int reader, std::size_t place);
  bool take_back(int reader, std::size_t place);
  bool all_have_taken();
  void post_chunks();
  void take_chunks();
  bool mailboxes_have_arrived();
  void fail(invalid_argument what) noexcept;
  [[nodiscard]] count_t sent(int reader) const noexcept { return send_.bytes(reader); }
  [[nodiscard]] std::byte* send_at(int reader) const noexcept { return send_.at(reader); }
  [[nodiscard]] count_t expected(int writer) const noexcept { return recv_.bytes(writer); }
  [[nodiscard]] std::byte* recv_at(int writer) const noexcept { return recv_.at(writer); }

  const exchange& x_;
  quick_side send_{x_.send};
  quick_side recv_{x_.recv};
  channel& c_;
  std::size_t payload_bytes_;
  count_t most_in_payload_;
  bool offers_;
  std::size_t payload_used_ = 0;
  std::size_t polled_rank_ = 0;  // fetching: of the payload area, by the blocks before the next one
  std::uint64_t offered_ = 0;    // the step in which readers were offered addresses; 0: none was
  std::uint64_t bytes_copied_ = 0;
  std::uint32_t steps_ = 0;    // of chunks: that this rank needs; then that all ranks need
  std::uint32_t step_ = 0;     // of chunks: the current one
  int next_ = 0;               // mailboxes, moved, fetching: the rank that is polled next, counted from this one
  int polls_ = 0;              // fetching: for readers that have not claimed their offers
  bool any_moves_ = false;     // a sender was moving its block when this rank polled
  bool unread_ = false;        // this rank may not read some block where it lies
  bool offered_here_ = false;  // this rank reads blocks where they lie
  std::optional<requested_copy> requested_;  // asking: from the rank that is polled
  stage stage_ = stage::mailboxes;
  std::optional<invalid_argument> error_;
};

}  // namespace taquin::detail
