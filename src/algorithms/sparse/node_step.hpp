// A step of a sparse exchange in the memory of a node: each rank's mailbox for another describes its blocks for it, so
// that agreement, notices and small data are one step.
//
// A mailbox has one block, or states where in its writer's payload area a list of them begins. Blocks up to 32 bytes
// are in the mailbox, larger ones in the payload area while it has space, others in place: their receiver copies them
// once. Mailboxes also publish how many blocks their writer has and how many it could take. If the sum of the first is
// no more than the least of the second, every rank has memory for the incoming blocks, whatever their senders and
// sizes; otherwise the step has transferred nothing, and the ranks agree in full.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "algorithms/sparse/headers.hpp"
#include "base/invalid_argument.hpp"
#include "node/channel.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class node_step {
 public:
  /// The purpose of a step: ranks with different purposes exchange nothing.
  enum class purpose : std::uint8_t { all_at_once = 1, headers, data };
  /// Bytes of an element must be fewer.
  static constexpr count_t most_element = count_t{1} << 24U;

  /// A block as its mailbox describes it.
  struct block {
    mailbox::kind what = mailbox::kind::none;
    int from = 0;
    std::uint64_t bytes = 0;
    std::uint64_t place = 0;  ///< in the payload area, an address, or (notices) elements before it
    const std::byte* data = nullptr;
  };

  /// `named`: the caller named the algorithm, on all ranks.
  node_step(channel& c, purpose why, bool named, const sparse_data& mine) noexcept
      : c_(c), why_(why), named_(named), mine_(mine) {}
  node_step(const node_step&) = delete;
  node_step& operator=(const node_step&) = delete;
  /// Others do not wait for this rank's copies.
  ~node_step() { release(); }

  /// The memory of this rank: `memory` bytes for its payload area, and for `each` per incoming block.
  struct limits {
    std::size_t memory;
    std::size_t each;
  };
  /// Writes this rank's mailboxes. False if its blocks cannot be transferred in this way: no rank then receives any.
  /// Local.
  bool post(std::span<const int> destinations, const count_view& counts, const limits& l);
  /// The same for a rank that brings nothing because it has an error: no rank receives any block.
  void refuse();
  /// Waits for the others' mailboxes. True, on all ranks, if all have brought the requested blocks.
  bool agreed();

  /// Of the blocks for this rank, after agreed().
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }
  /// f(block) for each: by source, those of one source in their order.
  template <class Each>
  void each(Each f) const {
    for (int from = 0; from < c_.size(); ++from) {
      const mailbox& box = mailbox_of(from);
      if (box.what() == mailbox::kind::none) continue;
      if (box.what() != list) {
        f(block{box.what(), from, box.size(), box.place, box.data.data()});
        continue;
      }
      for (std::uint64_t at = box.place; at != end_of_list;) {
        const listed& one = *reinterpret_cast<const listed*>(c_.payload(from) + at);
        f(block{one.what, from, one.bytes, one.place, one.data.data()});
        at = one.next;
      }
    }
  }
  /// Copies `count` elements of a block from its element `first` on to `to`. invalid() reports a failure.
  void copy(const block& b, count_t first, count_t count, std::byte* to);
  /// This rank needs no more of the others' data in this step. Local.
  void release() noexcept;
  /// The same, and waits until the others need no more of this rank's data.
  void end();
  /// The error of this rank's copies; it has taken part to the end all the same.
  [[nodiscard]] const std::optional<invalid_argument>& invalid() const noexcept { return invalid_; }

  [[nodiscard]] std::size_t payload_used() const noexcept { return used_; }
  void account(statistics& s) const noexcept;

 private:
  // The content of a mailbox with several blocks, a kind that no such exchange needs: `size` of them, from `place` on.
  static constexpr mailbox::kind list = mailbox::kind::chunks;
  static constexpr std::uint64_t end_of_list = ~std::uint64_t{0};
  // A block of a list in a payload area.
  struct alignas(64) listed {
    std::uint64_t bytes;
    std::uint64_t place;
    std::uint64_t next;  // in the payload area
    mailbox::kind what;
    std::array<std::byte, mailbox::capacity> data;
  };
  static_assert(sizeof(listed) == 64);

  [[nodiscard]] const mailbox& mailbox_of(int from) const noexcept {
    return from == c_.rank() ? c_.to(from) : c_.from(from);
  }
  [[nodiscard]] std::uint32_t choices() const noexcept;
  bool take_payload(std::size_t bytes, std::size_t& at) noexcept;
  bool put(int reader, count_t count, count_t first);
  bool put_in_list(int reader, count_t count, count_t first);
  std::optional<mailbox::kind> write(int reader, count_t count, count_t first, std::uint64_t& place, std::byte* data);
  void publish(std::uint32_t choices, std::uint32_t reported);
  void copy_now(const block& b, count_t first, count_t count, std::byte* to);
  void fetch(const block& b, count_t first, count_t count, std::byte* to);
  void request_copy(int owner, std::uint64_t address, count_t count, std::byte* to);

  channel& c_;
  purpose why_;
  bool named_;
  const sparse_data& mine_;
  std::size_t payload_bytes_ = 0;
  std::size_t used_ = 0;
  std::size_t blocks_ = 0;
  std::uint32_t offers_ = 0;  // blocks that others copy from this rank's memory
  bool reads_ = false;        // this rank copies from others' memory
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_copied_ = 0;
  std::optional<invalid_argument> invalid_;
};

}  // namespace taquin::detail
