// The two index sets of one rank: which locations still hold data to send, and which still wait for data.
//
// Source: Hofmann & Rünger §3.2 and §3.4. There a message is sent from its lowest index to its highest; here any part
//         of it may be sent next, so the rest of a message may have several runs. Both sets have a fixed capacity.
#pragma once

#include <cstddef>
#include <functional>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/in_place/problem.hpp"
#include "base/arrays.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

/// Units at the beginning of the messages to and from a peer that are none of a set's.
using first_units = std::function<count_t(int peer)>;
inline const first_units nobody = [](int) -> count_t { return 0; };

/// A run of data that leaves.
struct segment {
  count_t at = 0;
  count_t length = 0;
  count_t offset = 0;  ///< of its first unit in its message
  int peer = 0;
  int slot = -1;  ///< the send that it travels with; −1: not granted yet
  [[nodiscard]] count_t end() const noexcept { return at + length; }
};

/// Locations that hold data to be sent, in order of location.
class send_set {
 public:
  send_set(std::size_t capacity, std::pmr::memory_resource* memory);

  /// Resets it to the blocks `out`, split at the borders of the blocks `in`. `in` must be in order of location.
  void reset(std::span<const peer_block> out, std::span<const peer_block> in, const first_units& without = nobody);

  /// Assigns the units from `offset` of the message to `peer` to the send `slot`: as many of `length` as are contiguous
  /// in memory. Returns where, and how many; none when they are not there.
  struct run {
    count_t at = 0;
    count_t length = 0;
  };
  run take(int peer, count_t offset, count_t length, int slot);
  /// The send `slot`, which began at location `at`, is complete: its locations are free.
  void release(int slot, count_t at);

  /// All sends are complete.
  void release_all() {
    std::erase_if(segments_, [](const segment& p) { return p.slot >= 0; });
  }

  /// The first segment that ends after `at`.
  [[nodiscard]] std::size_t first_after(count_t at) const noexcept;
  /// Units from `at` that are free of data to send, at most `most`.
  [[nodiscard]] count_t free_from(count_t at, count_t most) const noexcept;
  /// The same of those up to `end`.
  [[nodiscard]] count_t free_before(count_t end, count_t most) const noexcept;

  /// Units that are not given to a send yet.
  [[nodiscard]] count_t left() const noexcept { return left_; }
  [[nodiscard]] std::span<const segment> segments() const noexcept { return segments_; }
  /// The segment at index i now begins at `at`: the caller moves its data. The order of segments must stay.
  void relocate(std::size_t i, count_t at) noexcept {
    moved_ = moved_ || segments_[i].at != at;
    segments_[i].at = at;
  }
  void erase(std::size_t i);

  static constexpr std::size_t bytes(std::size_t capacity) noexcept { return array_list::bytes<send_set>(capacity); }

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t capacity) {
    each(&send_set::segments_, at_most{capacity});
  }

  [[nodiscard]] std::size_t find(int peer, count_t offset) const noexcept;
  void split(std::size_t i, count_t length);

  std::pmr::vector<segment> segments_;
  std::span<const peer_block> out_;
  count_t left_ = 0;
  bool moved_ = false;  // data have changed their place: locations no longer follow from offsets
};

/// The state of a run of locations that wait for data.
enum class gap_state : std::uint8_t {
  open,             ///< not requested
  arriving,         ///< requested, arrives in place
  arriving_staged,  ///< requested, arrives in auxiliary memory
  staged            ///< in auxiliary memory, waits until its place is free
};

/// A run of locations that wait for data.
struct gap {
  count_t at = 0;
  count_t length = 0;
  count_t offset = 0;  ///< of its first unit in its message
  count_t aux = 0;     ///< staged, or being staged: where in auxiliary memory
  int source = 0;      ///< index of its block among the incoming blocks
  gap_state state = gap_state::open;
  [[nodiscard]] count_t end() const noexcept { return at + length; }
};

/// Locations that wait for data, in order of location.
class recv_set {
 public:
  recv_set(std::size_t capacity, std::size_t sources, std::pmr::memory_resource* memory);

  /// Resets it. `in` must be in order of location.
  void reset(std::span<const peer_block> in, const first_units& without = nobody);

  [[nodiscard]] std::span<const gap> gaps() const noexcept { return gaps_; }
  [[nodiscard]] bool empty() const noexcept { return gaps_.empty(); }
  /// Units not requested yet.
  [[nodiscard]] count_t left() const noexcept { return left_; }
  /// Open runs of a source.
  [[nodiscard]] int runs(int source) const noexcept { return runs_[as_size(source)]; }
  /// Index of the gap that begins at `at`.
  [[nodiscard]] std::size_t at(count_t at) const noexcept;
  /// The first gap that ends after `at`.
  [[nodiscard]] std::size_t first_after(count_t at) const noexcept;

  /// A part of the open gap i is requested. Returns the index of the new gap.
  std::size_t reserve(std::size_t i, count_t at, count_t length, gap_state how, count_t aux);
  /// The first `length` units of gap i are in place.
  void fill(std::size_t i, count_t length);
  /// The last units are; fewer than the gap has.
  void fill_end(std::size_t i, count_t length) noexcept { gaps_[i].length -= length; }
  /// The gap i has arrived in auxiliary memory; `length` units of it, the rest is open again.
  void stage(std::size_t i, count_t length);
  /// Of the gap i, requested in place, only `length` units have arrived, in place; the rest is open again.
  void reopen_rest(std::size_t i, count_t length);

  static constexpr std::size_t bytes(std::size_t capacity, std::size_t sources) noexcept {
    return array_list::bytes<recv_set>(capacity, sources);
  }

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t capacity, std::size_t sources) {
    each(&recv_set::gaps_, at_most{capacity});
    each(&recv_set::runs_, sources);
  }

  void cut(std::size_t i, count_t length);
  void open(std::size_t i);

  std::pmr::vector<gap> gaps_;
  std::pmr::vector<int> runs_;
  count_t left_ = 0;
};

}  // namespace taquin::detail
