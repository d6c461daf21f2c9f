// The state machine of `slots`: see slots.cpp.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "redistribute/block_list.hpp"
#include "redistribute/block_reader.hpp"
#include "redistribute/machine.hpp"

namespace taquin::detail {

class pull_engine {
 public:
  /// With `reader` blocks are read from their owners' arrays, and messages acknowledge them to the owners.
  pull_engine(machine& m, targets& t, block_reader* reader);

  void begin();
  void handle(const event& e);
  /// Fills free slots whose own blocks are here, and requests blocks as far as there is space. Called after begin() and
  /// after each event. If blocks are read, after all events that are at hand: an acknowledgement costs as much for one
  /// block as for many. False when a chunk is copied and there is more: it must be called again.
  bool go_on();
  [[nodiscard]] bool done() const noexcept { return unsent_ == 0 && expected_ == 0; }

  static std::size_t bytes(const table_sizes& s) noexcept { return array_list::bytes<pull_engine>(s); }

 private:
  static constexpr std::size_t scattered_bytes = 1024;  // blocks of this size are received where they belong
  static constexpr std::size_t ahead = 12;              // slots that are prefetched before their turn
  static constexpr std::uint32_t few = 2;               // with so many requests pending small ones wait
  static constexpr std::size_t seen_ahead = 3;          // candidates for each block of the buffers that receive
  static constexpr std::size_t in_cache = 3;            // messages whose blocks are copied from the cache once more

  /// Whether this rank reads a peer's blocks.
  enum class access : std::uint8_t { unknown, permitted, refused };

  /// Free slots, linked by their numbers in the map.
  struct slot_list {
    slot head = no_slot;
    slot count = 0;
  };
  struct peer_state {
    slot head = no_slot;  // free slots whose blocks will be requested, in order of becoming free: linked as slot_list
    slot tail = no_slot;
    slot waiting = 0;     // their number
    slot unseen = 0;      // of its blocks for this rank, those whose places were not looked at, in a circle of
    slot at = 0;          // numbers from here on
    slot candidates = 0;  // the places of the first ones
    slot first_candidate = 0;
    std::uint8_t requested = 0;  // pending requests, or acknowledgements that the peer may not have received
    std::uint8_t sure = 0;       // those of the acknowledgements that are received when the awaited one is
    access reads = access::unknown;
  };
  struct op {
    slot first = no_slot;  // slots: linked by the map, or by `need`, or a run of staging slots
    slot count = 0;
    int source = 0;
    bool queued = false;
    bool linked = false;
  };

  void prefetch(slot s) const {
    __builtin_prefetch(&t_.place[s], 1);
    __builtin_prefetch(&(*m_.map)[s], 1);
  }
  void freed(slot y);
  bool fill_gaps();
  bool issue();
  void left(const unit_run& gone);
  void pull(int source);
  bool open_chain();
  bool open_chain(int source, slot buffer);
  bool find_candidates();
  [[nodiscard]] bool wanted(slot x) const {
    return need(t_.place[x]).what() == need::kind::elsewhere && !m_.map->free(x);
  }
  [[nodiscard]] slot linked(slot y) const { return (*m_.map)[y].index; }
  void give(slot_list& list, slot y) noexcept {
    m_.map->link(y, std::exchange(list.head, y));
    ++list.count;
  }
  void start_request(int source);
  bool reads(int source);
  bool add(int source, slot x, slot z);
  void post_request(int source);
  void report(int source);
  void taken(int source);
  void arrived(std::uint32_t id);
  void serve(int peer, std::span<const word> request);
  [[nodiscard]] int source_of(std::uint32_t number);
  [[nodiscard]] slot free_buffer(slot reserve) const;
  [[nodiscard]] bool may_request(int source) const { return pending_[as_size(source)].requested < m_.sizes.per_peer; }
  [[nodiscard]] slot waiting_for(int source) const {
    return may_request(source) ? pending_[as_size(source)].waiting : 0;
  }

  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&pull_engine::pending_, s.ranks);
    each(&pull_engine::waiting_, std::size_t{s.buffers.receive_buffers});
    each(&pull_engine::ops_, std::size_t{s.buffers.requests});
    each(&pull_engine::list_, std::size_t{s.buffers.words});
    each(&pull_engine::runs_, at_most{s.buffers.read});
    each(&pull_engine::candidates_, at_most{seen_ahead * s.buffers.receive_buffers * s.buffers.chunk});
  }

  machine& m_;
  targets& t_;
  block_reader* reader_;
  slot chunk_;
  bool singly_ = true;  // all incoming blocks are read, so that staging slots are used one by one
  std::pmr::vector<peer_state> pending_;
  std::pmr::vector<slot> waiting_;  // blocks in each staging buffer, those on their way included
  std::pmr::vector<op> ops_;
  block_list list_;
  std::pmr::vector<unit_run> runs_;
  std::pmr::vector<slot> candidates_;  // places whose slots were taken, by source and number; or no_slot
  std::size_t known_ = 0;              // of the candidates, those that were not looked at
  std::uint64_t unseen_ = 0;           // blocks whose places were not looked at
  op op_;                              // the request that is being made
  slot gaps_ = no_slot;                // free slots whose own blocks are here: the last one
  std::size_t copied_ = 0;             // blocks, since go_on() began
  slot_list slack_;                    // free slots that no block is meant for
  std::size_t window_ = 0;             // free slots and pending blocks that are enough to keep all ranks busy
  std::size_t open_ = 0;               // as they are now
  std::size_t parked_ = 0;             // blocks that opened chains which are not closed
  std::uint32_t flying_ = 0;           // pending requests
  std::uint32_t awaited_ = 0;          // acknowledgements whose receipt is awaited
  std::uint64_t unsent_ = 0;
  std::uint64_t expected_ = 0;
  int last_source_ = 0;
  int opener_ = 0;
};

}  // namespace taquin::detail
