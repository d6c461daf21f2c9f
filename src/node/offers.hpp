// Descriptors of data that the ranks of one node fetch from each other's buffers, without the help of the owner.
//
// Each rank has a descriptor (board) for every other rank of its node, in its room of a channel. It states where the
// data for that rank lie and whether they may be fetched. A reader claims it, copies, adds a completion record of the
// copied part, and releases the claim; the rank reads these records when it polls. It can revoke an offer while no
// reader has claimed it.
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

#include "base/sizes.hpp"
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
  /// Ranks are those of the communicator.
  node_offers(channel& c, std::size_t unit_bytes, rank_group node = rank_group::all()) noexcept
      : c_(c), unit_bytes_(unit_bytes), node_(node) {}
  node_offers(const node_offers&) = delete;
  node_offers& operator=(const node_offers&) = delete;
  ~node_offers() { end(); }
  /// Bytes of a rank's room.
  static std::size_t bytes(int ranks) noexcept { return as_size(ranks) * sizeof(descriptor); }

  /// Enters a step of the channel; nothing is offered. All ranks call it equally often. Local.
  void begin();
  /// `length` consecutive units for a reader, in whose place `back` units of the reader's belong, from the first on;
  /// nothing for one on another node. Between begin() and publish().
  void offer(int reader, const void* data, count_t length, count_t back = 0);
  /// Others may see the offers.
  void publish();
  /// True when those of all other ranks can be seen. Local; does not wait.
  [[nodiscard]] bool all_here();

  /// Copies `length` units from `offset` of the data that `writer` offers this rank. False if no run of `expected`
  /// units is offered (any more), if the writer is on another node or has not read enough of its completion records
  /// yet, or if the kernel refuses.
  bool fetch(int writer, count_t offset, count_t expected, std::byte* to, count_t length);
  /// The next part of this rank's data that a reader has fetched and this function has not returned yet.
  std::optional<part> next_fetched();
  /// Revokes an offer; false while the reader fetches.
  bool withdraw(int reader);
  /// Units from the first on that this rank and a peer have in each other's places; the same on both. After all_here().
  [[nodiscard]] count_t swappable(int peer) const noexcept;
  /// Swaps up to `units` of them that neither rank has started to swap, through `room`. Returns how many; 0: none are
  /// left. If the kernel refuses, the peer takes part: then it returns some number until they are swapped.
  count_t swap_some(int peer, std::byte* room, count_t units);
  /// Serves the swap requests of peers that may not read this rank's memory. Local; does not wait.
  void give_what_is_asked() const noexcept { c_.give_what_is_asked(); }
  /// How many units either rank has started to swap, and how many are swapped.
  [[nodiscard]] count_t begun(int peer) const noexcept {
    return counters(node_.index(peer)).begun.load(std::memory_order_acquire);
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
  static constexpr std::uint32_t notes = 11;

  struct descriptor {
    // Written by the rank; a reader writes `now` to claim it.
    alignas(64) std::atomic<std::uint32_t> now{nothing};
    std::atomic<std::uint32_t> seen{0};  // completion records that the rank has read
    std::uint64_t address = 0;
    count_t length = 0;
    buffer_place shared;  // where the data lie in a shared buffer; file -1: in none
    count_t back = 0;
    // Written by the reader.
    alignas(64) std::atomic<std::uint32_t> noted{0};
    std::array<std::array<count_t, 2>, notes> fetched{};  // offset and length
    // Written by both, in the descriptor of the lower one.
    alignas(64) std::atomic<count_t> begun{0};
    std::atomic<count_t> swapped{0};
  };

  bool swap(int there, const descriptor& theirs, std::byte* mine, count_t at, std::byte* room, count_t units);
  count_t go_on_with_asked() noexcept;
  [[nodiscard]] descriptor& counters(int there) const noexcept {
    return of(std::min(there, c_.rank()), std::max(there, c_.rank()));
  }
  static bool copy(const descriptor& b, pid_t process, std::size_t begin, std::byte* to, std::size_t bytes) noexcept;
  [[nodiscard]] descriptor& of(int writer, int reader) const noexcept {
    return reinterpret_cast<descriptor*>(c_.room(writer))[reader];
  }

  bool withdraw_from(int local) noexcept;

  channel& c_;
  std::size_t unit_bytes_;
  rank_group node_;
  int come_ = 0;  // all ranks up to this one, counted from this rank, have published
  int next_ = 0;  // the reader whose descriptor is polled next
  bool open_ = false;
  std::optional<requested_copy> asked_;  // a swap that the kernel refuses
  std::byte* asked_for_ = nullptr;       // this rank's part of it
  descriptor* asked_in_ = nullptr;       // what counts it
  count_t asked_units_ = 0;
};

}  // namespace taquin::detail
