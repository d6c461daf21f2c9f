// From which start on the ranks of a node take another path, agreed on without waiting, by one word of memory that they
// share. A start that finds a rank not ready announces its number there and takes the old path. The first start that
// finds all ranks ready closes the word, which then holds the last number announced: later starts take the path that
// was chosen. Compare-and-swap orders announcements and the closing, so all ranks read the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace taquin::interpose::handover {

/// Zero at first. Used again by rounds of other numbers, counted from 1 on; of two rounds that ranks are in at the same
/// time each needs a word of its own.
using word = std::atomic<std::uint64_t>;

struct decision {
  bool closed = false;
  bool chosen = false;     ///< the new path, once it is closed
  std::uint64_t last = 0;  ///< starts after this one follow it
};

// Bits: the round, closed, chosen, the last number.
inline constexpr unsigned closed_at = 43;
inline constexpr unsigned round_at = 44;
inline constexpr std::uint64_t closed_bit = std::uint64_t{1} << closed_at;
inline constexpr std::uint64_t chosen_bit = std::uint64_t{1} << (closed_at - 1);
inline constexpr std::uint64_t last_mask = chosen_bit - 1;

/// In start `at` of the round. `ready()` gives the choice where all ranks are ready, and nothing otherwise; a rank
/// becomes ready after it has announced its starts. Local, does not wait.
template <class Ready>
decision decide(word& w, std::uint32_t round, std::uint64_t at, Ready ready) {
  const std::uint64_t number = std::uint64_t{round} << round_at;
  for (std::uint64_t old = w.load(std::memory_order_acquire);;) {
    const bool same = old >> round_at == number >> round_at;
    const std::uint64_t last = same ? old & last_mask : 0;
    if (same && (old & closed_bit) != 0) return {true, (old & chosen_bit) != 0, last};
    const std::optional<bool> choice = ready();  // read after the word: an announcement since then changes it
    const std::uint64_t next =
        number | (choice ? closed_bit | (*choice ? chosen_bit : 0) | last : std::max(last, at & last_mask));
    if (next != old && !w.compare_exchange_weak(old, next, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    return choice ? decision{true, *choice, last} : decision{};
  }
}

}  // namespace taquin::interpose::handover
