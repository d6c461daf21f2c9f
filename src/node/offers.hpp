// Descriptors of data that the ranks of one node fetch from each other's buffers, without the help of the owner.
//
// Each rank has a descriptor (board) for every other rank of its node, in its payload area of a channel. It states
// where the data for that rank lie and whether they may be fetched. If units have parts in several arrays, a table
// after the descriptors has the places of all arrays but the first. A reader claims it, copies, adds a completion
// record of the copied part, and releases the claim; the rank reads these records when it polls. It can revoke an offer
// while no reader has claimed it.
//
// Two ranks may have data for each other in each other's places. Either of them swaps parts of them, without the
// other's help: the descriptor of the lower rank counts the next part's beginning and the swapped amount.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/sizes.hpp"
#include "base/unit_column.hpp"
#include "node/channel.hpp"
#include "node/requested_copy.hpp"
#include "node/shared_buffers.hpp"
#include "taquin/types.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

class node_offers {
 public:
  /// A part of the offered data of a reader, in units.
  struct part {
    int reader = 0;
    count_t offset = 0;
    count_t length = 0;
  };

  /// The channel of the node's ranks must have `bytes(its ranks)` of room, and outlive this. Units have `unit_bytes`.
  /// Ranks are those of the communicator. `columns`, which outlive this: at most `most_columns` arrays that have parts
  /// of each unit; none: units lie in one array.
  node_offers(channel& c, std::size_t unit_bytes, rank_group node = rank_group::all(),
              std::span<const unit_column> columns = {}) noexcept
      : c_(c), unit_bytes_(unit_bytes), node_(node), columns_(columns) {}
  node_offers(const node_offers&) = delete;
  node_offers& operator=(const node_offers&) = delete;
  ~node_offers() { end(); }
  /// Bytes of a rank's payload area.
  static std::size_t bytes(int ranks) noexcept {
    return as_size(ranks) * sizeof(descriptor) + (most_columns - 1) * sizeof(place);
  }

  /// Enters a step of the channel; nothing is offered. All ranks call it equally often. Local.
  void begin();
  /// `length` consecutive units for a reader, in whose place `back` units of the reader's belong, from the first on;
  /// nothing for one on another node. With several columns `data` is in the first one, at index `at` of all of them.
  /// Between begin() and publish().
  void offer(int reader, const void* data, count_t length, count_t back = 0, count_t at = 0);
  /// Others may see the offers.
  void publish();
  /// True when those of all other ranks can be seen. Local; does not wait.
  [[nodiscard]] bool all_here();

  /// Copies `length` units from `offset` of the data that `writer` offers this rank, to one place for each column.
  /// False if no run of `expected` units is offered (any more), if the writer is on another node or has not read enough
  /// of its completion records yet, or if the kernel refuses.
  bool fetch(int writer, count_t offset, count_t expected, std::span<std::byte* const> to, count_t length);
  bool fetch(int writer, count_t offset, count_t expected, std::byte* to, count_t length) {
    return fetch(writer, offset, expected, std::span(&to, 1), length);
  }
  /// The next part of this rank's data that a reader has fetched and this function has not returned yet.
  std::optional<part> next_fetched();
  /// Revokes an offer; false while the reader fetches.
  bool withdraw(int reader);
  /// Units from the first on that this rank and a peer have in each other's places; the same on both. After all_here().
  [[nodiscard]] count_t swappable(int peer) const noexcept;
  /// Swaps up to `units` of them that neither rank has started to swap, through `space`. Returns how many; 0: none are
  /// left. If the kernel refuses, the peer takes part: then it returns some number until they are swapped.
  count_t swap_some(int peer, std::byte* space, count_t units);
  /// Serves the swap requests of peers that may not read this rank's memory. Local; does not wait.
  void give_what_is_requested() const noexcept { c_.give_what_is_requested(); }
  /// How many units either rank has started to swap, and how many are swapped.
  [[nodiscard]] count_t started(int peer) const noexcept {
    return counters(node_.index(peer)).started.load(std::memory_order_acquire);
  }
  [[nodiscard]] count_t done(int peer) const noexcept {
    return counters(node_.index(peer)).swapped.load(std::memory_order_acquire);
  }
  /// True when all of them are swapped.
  [[nodiscard]] bool swapped(int peer) const noexcept;
  /// Revokes all offers: waits for readers that fetch. Afterwards no rank reads this rank's buffer.
  void end() noexcept;

 private:
  enum state : std::uint32_t { nothing, offered, claimed };
  static constexpr std::uint32_t most_completions = 11;

  // Data of one array.
  struct place {
    std::uint64_t address = 0;
    buffer_place shared;  // where they lie in a shared buffer, if they do

    [[nodiscard]] place after(std::size_t bytes) const noexcept {
      return {address + bytes, {shared.key, shared.offset + bytes}};
    }
  };
  struct descriptor {
    // Written by the rank; a reader writes `now` to claim it.
    alignas(64) std::atomic<std::uint32_t> now{nothing};
    std::atomic<std::uint32_t> seen{0};  // completion records that the rank has read
    place first;                         // the units, or of several columns the first one
    count_t length = 0;
    count_t back = 0;
    count_t at = 0;
    // Written by the reader.
    alignas(64) std::atomic<std::uint32_t> completed{0};
    std::array<std::array<count_t, 2>, most_completions> fetched{};  // offset and length
    // Written by both, in the descriptor of the lower one.
    alignas(64) std::atomic<count_t> started{0};
    std::atomic<count_t> swapped{0};
  };

  [[nodiscard]] std::size_t columns() const noexcept { return columns_.empty() ? 1 : columns_.size(); }
  [[nodiscard]] std::size_t width(std::size_t column) const noexcept {
    return columns_.empty() ? unit_bytes_ : columns_[column].bytes;
  }
  [[nodiscard]] std::size_t before(std::size_t column) const noexcept {
    return columns_.empty() ? 0 : columns_[column].before;
  }
  [[nodiscard]] place* further(int writer) const noexcept {
    return reinterpret_cast<place*>(c_.payload(writer) + as_size(c_.size()) * sizeof(descriptor));
  }
  [[nodiscard]] place place_of(int writer, int reader, std::size_t column, count_t offset) const noexcept;
  bool copy(int there, count_t offset, std::span<std::byte* const> to, count_t units) noexcept;
  bool swap(int there, count_t at, std::byte* space, count_t units);
  void post_request(int there) noexcept;
  count_t go_on_with_requested() noexcept;
  [[nodiscard]] descriptor& counters(int there) const noexcept {
    return of(std::min(there, c_.rank()), std::max(there, c_.rank()));
  }
  [[nodiscard]] descriptor& of(int writer, int reader) const noexcept {
    return reinterpret_cast<descriptor*>(c_.payload(writer))[reader];
  }

  bool withdraw_from(int local) noexcept;

  channel& c_;
  std::size_t unit_bytes_;
  rank_group node_;
  std::span<const unit_column> columns_;
  count_t end_ = 0;  // of all that is offered, by index
  int arrived_ = 0;  // all ranks up to this one, counted from this rank, have published
  int next_ = 0;     // the reader whose descriptor is polled next
  bool open_ = false;
  std::optional<requested_copy> requested_;  // a swap that the kernel refuses: of one column after the other
  std::uint32_t requested_left_ = 0;         // columns that follow: a bit for each
  int requested_there_ = 0;
  count_t requested_at_ = 0;
  std::byte* requested_for_ = nullptr;  // this rank's part of it
  descriptor* requested_in_ = nullptr;  // what counts it
  count_t requested_units_ = 0;
};

}  // namespace taquin::detail
