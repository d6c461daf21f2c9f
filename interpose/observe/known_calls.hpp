// Repeated calls: a program makes the same ones again and again, and counting them must cost little. There
// is no look-up by name, no text and no list in the way of a call that is known.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "interpose/event.hpp"
#include "interpose/observe/log.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

struct recorder_state;

/// A call without its bytes.
struct call_key {
  const void* site = nullptr;       ///< its return address, or in a full report its place
  const char* algorithm = nullptr;  ///< the name's address
  std::uint32_t comm = 0;           ///< index into rank_log::comms
  call_traits traits;
  int in_flight = 0;
  bool operator==(const call_key& k) const noexcept {
    return site == k.site && algorithm == k.algorithm && comm == k.comm && traits == k.traits &&
           in_flight == k.in_flight;
  }
};

/// One of them, and its counts since it was last added to the log.
struct known_call {
  call_key key;
  count_t send_element = -1;  ///< bytes; −1: not all blocks have elements of one type
  count_t receive_element = -1;
  bool equal = false;        ///< all blocks that are sent, and all that are received
  std::uint32_t site = 0;    ///< index into rank_log::sites
  std::uint32_t traced = 0;  ///< 1 + index into rank_log::traced
  std::uint64_t calls = 0;
  const char* reason = nullptr;  ///< why the MPI library has done `passed_on` of them
  std::uint64_t passed_on = 0;
  std::uint64_t ticks = 0;
  double squares = 0;  ///< of the ticks of each call, added up
  std::size_t peak_memory = 0;
  moved data;
  signature what;
  std::string_view algorithm;
};

class known_calls {
 public:
  /// Whether `k` has this key and the blocks of `x`.
  static bool is(const known_call& k, const call_key& key, const exchange& x, bool receives) noexcept {
    return k.key == key && same_side(x.send, k.send_element, k.equal, k.data.sent) &&
           (!receives || same_side(x.recv, k.receive_element, k.equal, k.data.received));
  }
  /// The one with this key whose blocks are those of `x`; null where there is none.
  [[nodiscard]] known_call* find(const call_key& key, const exchange& x, bool receives) noexcept {
    known_call& k = at(key);
    return is(k, key, x, receives) ? &k : nullptr;
  }
  [[nodiscard]] known_call* find(const call_key& key, const moved& m) noexcept;
  /// Remembers one, in the place of another.
  known_call& add(recorder_state& s, const call_key& key, std::string_view algorithm, const moved& m);
  /// Runs of equal calls are to be kept: a recording wants them. A program whose calls take turns has one for each.
  void keep_runs() noexcept { keeps_runs_ = true; }
  /// A call. Returns its run in the log.
  std::uint32_t count(recorder_state& s, known_call& k, std::size_t peak_memory) {
    ++k.calls;
    if (peak_memory > k.peak_memory) k.peak_memory = peak_memory;
    if (!keeps_runs_) return entry::no_run;
    if (last_ != &k) [[unlikely]]
      begin_run(s, k);
    ++repeats_;
    return run_;
  }
  /// The reason of the calls from now on.
  static void change_reason(recorder_state& s, known_call& k, const char* reason);
  /// Adds the counts to the log.
  void flush(recorder_state& s);

 private:
  static constexpr std::size_t places = 64;
  [[nodiscard]] known_call& at(const call_key& key) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(key.site);
    return all_[(address ^ (address >> 6U) ^ (std::uintptr_t{7} * key.comm)) % places];
  }
  static bool same_side(const blocks& side, count_t element, bool equal, const std::vector<count_t>& row) noexcept {
    if (side.element.size != element) return false;
    if (!side.counts.is_sequence()) return same_blocks(side, row);
    return equal && side.types == nullptr && !side.counts.missing() && side.counts[0] * element == row.front();
  }
  static bool same_blocks(const blocks& side, const std::vector<count_t>& row) noexcept;
  void begin_run(recorder_state& s, const known_call& k);
  void end_run(recorder_state& s);
  static void flush(recorder_state& s, known_call& k);

  bool keeps_runs_ = false;
  const known_call* last_ = nullptr;  // whose run is the log's last one
  std::uint64_t repeats_ = 0;         // of that run, not in the log yet
  std::uint32_t run_ = 0;             // its index
  std::array<known_call, places> all_;
};

}  // namespace taquin::interpose
