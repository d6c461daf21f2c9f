// The decisions of the algorithm in_place, for one rank: pure, without MPI and without data.
//
// Every rank requests the data that it can place: a request names a part of one message, by offset and length, and the
// sender answers each with one data message. A rank requests
//   1. data whose location is free: they move once, straight to their place, and leave a free
//      location behind where they came from, so that a free slot travels from rank to rank as in the sliding puzzle;
//   2. if no location is free, data that fit into auxiliary memory, which frees a location elsewhere; these data are
//      copied once more when their place has become free. The unsent data of a message have a bounded number of runs,
// so that bookkeeping is linear in the number of peers. If that bound forbids to use free locations, the data left in a
// block move up to its end (the paper's compaction), so that the free locations are at its beginning.
// docs/internals/in-place.md has the proof that this ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/in_place/aux_heap.hpp"
#include "algorithms/in_place/in_place_limits.hpp"
#include "algorithms/in_place/index_sets.hpp"
#include "algorithms/in_place/problem.hpp"
#include "base/arrays.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

/// Request a part of the message from `peer`, to arrive at `to`, under the number `slot`.
struct in_place_request {
  int peer = 0;
  int slot = 0;
  count_t offset = 0;
  count_t length = 0;
  count_t to = 0;
  count_t expected = 0;  ///< units of the whole message
};

/// Answer a request: send `length` units from location `at` of the buffer.
struct in_place_answer {
  int slot = 0;
  count_t at = 0;
  count_t length = 0;
};

/// The next action: at most one of the two is set.
struct in_place_step {
  std::optional<in_place_request> request;
  std::optional<local_move> move;
};

class in_place_machine {
 public:
  /// `out` in order of peer, `in` in order of location; both without empty blocks, and alive as long as the machine.
  in_place_machine(int rank, std::span<const peer_block> out, std::span<const peer_block> in,
                   const in_place_limits& limits, std::pmr::memory_resource* memory);
  /// Bytes that a machine takes from its memory.
  static std::size_t bytes(const in_place_limits& limits, std::size_t out, std::size_t in) noexcept;

  /// Takes its chunk sizes from `limits`, which are otherwise those that it was made with.
  void set_chunks(const in_place_limits& limits) noexcept { limits_ = limits; }

  /// Begins an exchange, without the first units of both messages between this rank and a peer that `others_move`
  /// names.
  void reset(const first_units& others_move = nobody);

  /// The next action, to be done before the next call; none when the rank must wait for others. `idle` means that there
  /// was no event for a while: then the machine chooses actions that cost more than waiting a little.
  in_place_step next(bool idle);

  /// A peer requests a part of the message to it, while there is space for an answer. The answer must be sent; an
  /// answer of length 0 means that the requested data are not here: the two ranks' counts differ.
  in_place_answer requested(int peer, count_t offset, count_t length);
  /// A peer has fetched a part of the message to it: its locations are free. False when it is not there.
  bool fetched(int peer, count_t offset, count_t length);
  /// The answer `slot` is complete: its locations are free.
  void sent(int slot);
  /// The request `slot` was answered with `length` units.
  void arrived(int slot, count_t length);

  /// True when no data remain to request, to answer or to place.
  [[nodiscard]] bool done() const noexcept {
    return recvs_.empty() && sends_.left() == 0 && free_sends_.size() == send_at_.size();
  }
  /// The data that leave and arrive, as index_sets.hpp has them; the locations of data that wait for their place.
  [[nodiscard]] std::span<const segment> segments() const noexcept { return sends_.segments(); }
  [[nodiscard]] std::span<const gap> gaps() const noexcept { return recvs_.gaps(); }
  [[nodiscard]] count_t staged_at(const gap& g) const noexcept { return aux_location(g.aux); }
  /// Where auxiliary memory begins.
  [[nodiscard]] count_t border() const noexcept { return border_; }
  [[nodiscard]] const in_place_limits& limits() const noexcept { return limits_; }
  /// Times that the rank sent more requests after it had to wait.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }

 private:
  struct free_region {
    std::size_t gap = 0;
    count_t at = 0;
    count_t length = 0;
  };
  struct requested_part {
    count_t at = 0;  // of its gap
    count_t length = 0;
  };

  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const in_place_limits& l, std::size_t in) {
    each(&in_place_machine::free_sends_, as_size(l.sends));
    each(&in_place_machine::send_at_, as_size(l.sends));
    each(&in_place_machine::free_requests_, as_size(l.requests));
    each(&in_place_machine::outstanding_, as_size(l.requests));
    each(&in_place_machine::unanswered_, in);
  }

  void find_scratch();
  void open_scratch();
  [[nodiscard]] count_t aux_location(count_t at) const noexcept;
  std::optional<local_move> place_staged(bool any_part);
  std::optional<local_move> slide();
  std::optional<free_region> best_free_region(bool any_size);
  std::optional<free_region> best_staging(bool idle) const;
  bool begin_any_compaction(bool last_resort);
  bool begin_compaction(std::size_t i, bool last_resort);
  std::optional<local_move> compact();
  in_place_step make_request(const free_region& h, gap_state how);
  [[nodiscard]] bool may_request(const gap& g, count_t at) const noexcept;
  [[nodiscard]] std::optional<free_region> worth_staging(std::size_t i) const;
  [[nodiscard]] const peer_block& source(const gap& g) const noexcept { return in_[as_size(g.source)]; }
  template <class Visit>
  void for_each_free_region(Visit visit) const;

  int rank_;
  std::span<const peer_block> out_;
  std::span<const peer_block> in_;
  in_place_limits limits_;
  count_t border_;
  send_set sends_;
  recv_set recvs_;
  aux_heap aux_;
  std::pmr::vector<int> free_sends_;
  std::pmr::vector<count_t> send_at_;
  std::pmr::vector<int> free_requests_;
  std::pmr::vector<requested_part> outstanding_;
  std::pmr::vector<int> unanswered_;  // per source
  count_t self_left_ = 0;             // units that stay on this rank and have not moved yet
  count_t scratch_at_ = 0;            // the longest run of locations that only send blocks cover
  count_t scratch_length_ = 0;
  bool scratch_open_ = false;
  std::size_t staged_ = 0;     // runs in auxiliary memory or on their way there
  std::size_t turn_ = 0;       // where the search for data to stage begins
  bool blocked_ = false;       // the number of runs forbids to use a free region
  std::size_t compacted_ = 0;  // a compaction in progress: the segment to examine next is before this one
  count_t compact_begin_ = 0;
  count_t compact_end_ = 0;  // at the beginning: none is in progress
  bool changed_ = true;
  bool waited_ = true;
  std::uint64_t rounds_ = 0;
};

}  // namespace taquin::detail
