// The arguments of a redistribution algorithm, and the list of algorithms. To add one: a file in this folder that
// defines `const redistribution_algorithm taquin::detail::NAME_redistribution`, and one line in redistributions.def.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "protocol/port.hpp"
#include "protocol/task.hpp"
#include "redistribute/block_map.hpp"
#include "redistribute/targets.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// Sizes of buffers, the same for all algorithms.
struct buffer_sizes {
  slot chunk = 1;              ///< blocks in a staging buffer
  slot receive_buffers = 1;    ///< staging buffers among the slots
  slot scatter_buffers = 0;    ///< those of them in which no block waits for its slot
  slot send_buffers = 1;       ///< in the port
  slot read = 1;               ///< blocks that are read together, where that is possible
  slot scattered = 1;          ///< runs that one transfer is received into
  std::uint32_t words = 16;    ///< most words in a request
  std::uint32_t requests = 1;  ///< requests of one rank pending at a time
  std::uint32_t per_peer = 1;  ///< those of them that go to one rank
  bool gated = false;          ///< no rank sends unsolicited blocks before all have posted their receives
  std::uint32_t edges = 1;     ///< of the transmission graph in one message of `cyclic` to its root
  std::uint32_t actions = 1;   ///< in one message from it

  /// The shortest messages, of 16 words, hold them, and the root's memory for each rank stays small.
  static constexpr std::uint32_t most_edges = 3;
  static constexpr std::uint32_t most_actions = 2;

  /// Slots beside the caller's array, the spare one included.
  [[nodiscard]] slot staging_slots() const noexcept { return receive_buffers * chunk + 1; }
};

/// The sizes for an algorithm's arrays: of one rank as it is, or the most of any.
struct table_sizes {
  std::size_t ranks = 1;
  std::size_t blocks = 0;  ///< slots of the caller's array
  buffer_sizes buffers{};
  [[nodiscard]] std::size_t slots() const noexcept { return blocks + buffers.staging_slots(); }
};

/// One rank's state. The map is right whenever an algorithm begins or ends, so that another one can continue there.
struct machine {
  std::pmr::memory_resource* memory = nullptr;
  int rank = 0;
  int ranks = 1;
  block_map* map = nullptr;
  port* net = nullptr;
  buffer_sizes sizes;
  double least_progress = 0;             ///< hand over when a round moves a smaller part of the remaining blocks
  std::string_view successor = "slots";  ///< the algorithm that takes over; `least_progress` does not apply to it
  targets* known = nullptr;              ///< the result of learn_sources, if it is known already
  bool handed_over = false;              ///< another algorithm ran before: blocks are sorted, some may be in staging
  std::uint64_t rounds = 0;
  slot parts = 1;                ///< of a block of the caller's: each is a block here
  std::string_view hand_over{};  ///< set by an algorithm that stops before the end: the algorithm that takes over

  /// Slots of the caller's array.
  [[nodiscard]] slot blocks() const noexcept { return map->blocks(); }
  /// The first staging slot; buffer b begins at staging() + b·chunk.
  [[nodiscard]] slot staging() const noexcept { return blocks(); }
  /// A staging slot that is free whenever blocks are permuted.
  [[nodiscard]] slot spare() const noexcept { return map->slots() - 1; }
  /// Blocks that this rank moves by itself before it yields.
  [[nodiscard]] std::size_t blocks_per_test() const noexcept {
    return std::max<std::size_t>(port::bytes_per_test / std::max<std::size_t>(map->units().unit_bytes(), 1), 1);
  }
  /// A transfer of blocks is complete: updates the map.
  void settle(const event& e) const noexcept {
    if (e.what == event::kind::arrived)
      map->arrived(e.units);
    else
      map->clear(e.units);
  }
  /// The arrays of an algorithm.
  [[nodiscard]] table_sizes tables() const noexcept { return {as_size(ranks), blocks(), sizes}; }
};

/// A redistribution as a prediction knows it: of an average rank.
struct redistribution_load {
  int ranks = 1;
  double blocks = 0;   ///< that it holds
  double leaving = 0;  ///< of them for other ranks
  double free = 0;     ///< free blocks
  double peers = 0;    ///< ranks that its blocks go to
  double block_bytes = 0;
  buffer_sizes buffers;

  /// Each block goes in so many parts.
  void divide(double parts) noexcept {
    for (double* each : {&blocks, &leaving, &free}) *each *= parts;
    block_bytes /= parts;
  }
};

struct redistribution_algorithm {
  std::string_view name;
  std::string_view summary;  ///< one line, for the table
  std::string_view source;
  std::string_view rounds;  ///< as a formula
  /// Bytes of its arrays beside those of all algorithms, at most.
  std::size_t (*memory)(const table_sizes&) noexcept = nullptr;
  /// Moves every block to its rank, or stops with `hand_over` set on all ranks.
  task (*run)(machine&) = nullptr;
  bool hands_over = false;  ///< it may stop before the end
  /// Predicted time, as a closed formula: of messages, without reading other ranks' memory.
  seconds (*cost)(const redistribution_load&, const machine_model&) noexcept = nullptr;
};

#define TAQUIN_REDISTRIBUTION(name) extern const redistribution_algorithm name##_redistribution;
#include "redistribute/redistributions.def"
#undef TAQUIN_REDISTRIBUTION

/// All of them, the default first.
std::span<const redistribution_algorithm* const> redistributions() noexcept;
/// The one of that name ("auto": the default), or null.
const redistribution_algorithm* find_redistribution(std::string_view name) noexcept;
/// "slots, …"
std::string redistribution_names();

/// Sorts the blocks by destination rank (block_map::sort), a chunk in each test.
task sort_by_rank(machine& m);

/// Every block of the rank is for the rank itself: puts each to its index.
task put_in_place(machine& m);

/// Runs the algorithm, those it hands over to, and the permutation that puts every block to its index.
task redistribute_blocks(machine& m, const redistribution_algorithm& first);

}  // namespace taquin::detail
