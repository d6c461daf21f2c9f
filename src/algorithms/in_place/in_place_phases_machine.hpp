// The decisions of the algorithm in_place_phases, for one rank: pure, without MPI and without data.
//
// Source: Hofmann & Rünger §3. Messages go from their lowest index to their highest. In each phase a rank determines
// how much of each message it can take, in place and into auxiliary memory; after the data have gone both ways, the
// unsent data move to the high end of each receive block and data from auxiliary memory to the freed low end.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/in_place/aux_heap.hpp"
#include "algorithms/in_place/index_sets.hpp"
#include "algorithms/in_place/problem.hpp"
#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "protocol/port.hpp"

namespace taquin::detail {

/// Auxiliary memory of a rank: `parts` static parts of equal size, where source j uses part j mod parts, first come,
/// first served; or, with `heap`, all of it for all sources, any free run. Where fewer sources than parts have data
/// left and nothing is in auxiliary memory, each of these gets an equal part of all of it.
struct phase_limits {
  count_t aux = 1;
  int parts = 1;
  bool heap = false;
  count_t most = 1;  ///< units in one message
  std::size_t bytes_per_test =
      port::bytes_per_test;  ///< bytes that are moved inside the rank between two tests of the operation

  /// Pieces that a rank's send blocks are split into: at most so many.
  static constexpr std::size_t segments(std::size_t out, std::size_t in) noexcept { return 3 * out + 2 * in + 1; }
};

class in_place_phases_machine {
 public:
  /// `out` in order of peer, `in` in order of location; both without empty blocks, alive as long as the machine.
  in_place_phases_machine(std::span<const peer_block> out, std::span<const peer_block> in, const phase_limits& limits,
                          std::pmr::memory_resource* memory);
  /// Bytes that a machine takes from its memory.
  static std::size_t bytes(const phase_limits& limits, std::size_t out, std::size_t in) noexcept;

  [[nodiscard]] const phase_limits& limits() const noexcept { return limits_; }
  /// Begins an exchange.
  void reset();

  /// The units that a source may send in this phase: first `direct` units, to `at`, then `aux` units, to `aux_at`.
  struct request {
    count_t direct = 0;
    count_t aux = 0;
    count_t at = 0;
    count_t aux_at = 0;
    bool direct_here = false;
    bool aux_here = false;
  };
  /// Step 1: determines the requests of a phase, one per incoming block.
  std::span<const request> determine();
  [[nodiscard]] std::span<const request> requests() const noexcept { return requests_; }
  /// Step 3: the next `length` units of the message of outgoing block `k`; calls visit(at, length) for each run of
  /// them in memory, in order. Returns false when there are not so many: the ranks' counts differ.
  template <class Visit>
  bool send(std::size_t k, count_t length, Visit visit) {
    while (length > 0) {
      const auto run = sends_.take(out_[k].peer, sent_[k], length, 0);
      if (run.length == 0) return false;
      visit(run.at, run.length);
      sent_[k] += run.length;
      length -= run.length;
    }
    return true;
  }
  /// A transfer of incoming block `k` has arrived: if begin_update() is never reached, whole_of() may need it.
  void arrived(std::size_t k, bool into_aux) noexcept {
    (into_aux ? requests_[k].aux_here : requests_[k].direct_here) = true;
  }
  /// Step 4: all data of the phase have gone both ways. Then call next_move() until it has no more.
  void begin_update();
  std::optional<local_move> next_move();

  /// Units of incoming block k that are not requested yet; units of outgoing block k that are not sent yet.
  [[nodiscard]] count_t expected(std::size_t k) const noexcept { return sources_[k].left - sources_[k].staged; }
  [[nodiscard]] count_t unsent(std::size_t k) const noexcept { return out_[k].length - sent_[k]; }
  [[nodiscard]] bool done() const noexcept;
  [[nodiscard]] std::span<const segment> segments() const noexcept { return sends_.segments(); }
  /// The data of incoming block k that are here: visit(at, length, where): units that belong at `at` and lie at
  /// `where`; −1: they are not here. From the first to the last.
  template <class Visit>
  void for_each_part(std::size_t k, Visit visit) const {
    const source& s = sources_[k];
    const request r = in_phase_ ? requests_[k] : request{};
    count_t at = in_[k].at;
    const auto next = [&](count_t n, count_t where) {
      if (n > 0) visit(at, n, where);
      at += n;
    };
    next(s.at - at, at);
    next(s.staged, s.aux_at);
    next(r.direct, r.direct_here ? at : -1);
    next(r.aux, r.aux_here ? r.aux_at : -1);
    next(in_[k].at + in_[k].length - at, -1);
  }
  /// Where auxiliary memory begins.
  [[nodiscard]] count_t border() const noexcept { return border_; }

 private:
  struct source {
    count_t at = 0;      // lowest location whose data are not in place
    count_t left = 0;    // locations from there on
    count_t staged = 0;  // units of them that are in auxiliary memory
    count_t aux_at = 0;
    std::size_t part = 0;
  };
  struct part {
    count_t used = 0;  // from its beginning
    count_t live = 0;  // of that, not returned yet
  };
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const phase_limits& l, std::size_t out, std::size_t in) {
    each(&in_place_phases_machine::parts_, as_size(l.parts));
    each(&in_place_phases_machine::sources_, in);
    each(&in_place_phases_machine::requests_, in);
    each(&in_place_phases_machine::sent_, out);
  }
  static constexpr std::size_t free_runs(std::size_t in) noexcept { return in + 2; }

  void divide_aux();
  [[nodiscard]] count_t begin_of_part(std::size_t index) const noexcept {
    return limits_.aux * static_cast<count_t>(index) / static_cast<count_t>(in_use_);
  }
  count_t take_aux(std::size_t k, count_t wanted, count_t& at);
  count_t extend_aux(std::size_t k, count_t wanted);
  void give_back(std::size_t k, count_t at, count_t length);

  std::span<const peer_block> out_;
  std::span<const peer_block> in_;
  phase_limits limits_;
  count_t border_;
  send_set sends_;
  aux_heap heap_;
  std::pmr::vector<part> parts_;
  std::pmr::vector<source> sources_;
  std::pmr::vector<request> requests_;
  std::pmr::vector<count_t> sent_;
  std::size_t in_use_ = 1;    // parts
  std::size_t updating_ = 0;  // the source whose block is being updated
  std::size_t segment_ = 0;   // one past the segment to examine next
  count_t high_ = 0;          // where the segments that are packed begin
  bool packing_ = false;
  bool in_phase_ = false;  // data of requests_ are on their way
};

}  // namespace taquin::detail
