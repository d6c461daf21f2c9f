// A redistribution of few blocks in two steps of a node's memory, for calls that wait.
//
// In the first step each rank's mailbox for another has the number of blocks, and a list in the rank's payload area
// their places. A receiver checks the places. Blocks that do not fit into their owner's room are read from the owner's
// array, into staging. In the second step the other blocks are in their owners' rooms, and all ranks publish whether
// they have the blocks that they need. The array is written only if all have them. Otherwise nothing has changed, and
// the ranks take the general path, which finds the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "node/channel.hpp"
#include "node/shared_buffers.hpp"
#include "redistribute/block_map.hpp"
#include "redistribute/check_map.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

class node_steps {
 public:
  static constexpr std::string_view name = "node_steps";
  /// The arguments that are identical on all ranks.
  struct setting {
    std::span<const count_t> blocks;  ///< of each rank
    std::size_t block_bytes = 0;
    std::uint32_t number = 0;  ///< distinguishes this redistribution from others on the communicator
    slot staging = 0;          ///< blocks that any rank can stage
    bool readable = false;     ///< ranks can read each other's blocks
    bool check = true;         ///< refuse two blocks for one place
  };
  /// Whether every map can be served so if the memory suffices. The same on all ranks.
  static bool suit(const setting& s, const channel& c) noexcept;
  /// Bytes of the node's memory that a rank with so many blocks uses at most.
  static std::size_t shared_bytes(std::size_t blocks, std::size_t block_bytes, const channel& c) noexcept;
  /// Redistributes. False, on all ranks, if nothing has changed. After the rank's blocks `units` has a slot for each
  /// staged block, and a spare one. Collective, blocking.
  static bool run(const setting& s, channel& c, store& units, memory_budget& memory, const given_map& given,
                  statistics* stats);

  /// A step by which ranks that redistribute agree whether all are `good`. Collective, blocking.
  static bool agree(const setting& s, channel& c, bool good);

  node_steps(const setting& s, channel& c, store& units, memory_budget& memory);

 private:
  // The head of a payload area: where its rank's blocks are.
  struct owner {
    std::uint64_t data = 0;
    buffer_place shared;
  };
  // A block of a list: where it goes, and where it is.
  struct listed {
    slot index;
    slot at;
  };
  // The records of ranks in a step.
  enum class word : std::uint32_t { lists, ready };

  [[nodiscard]] static std::uint32_t choices(const setting& s, word w) noexcept {
    return 0x80000000U | s.number << 1U | static_cast<std::uint32_t>(w);
  }
  static bool agreed(const setting& s, const channel& c, word w) noexcept;
  static void publish(const setting& s, const channel& c, word w, bool good) noexcept;
  bool prepare(const given_map& given);
  void choose_transport();
  void write_lists();
  bool learn();
  // False if it is taken.
  bool take(slot place) noexcept { return std::exchange(sources_[place], place) == no_slot; }
  bool read(int source, const mailbox& box);
  void pack();
  void put();
  void account(statistics& s) const noexcept;

  const setting& s_;
  channel& c_;
  store& units_;
  memory_budget& memory_;
  block_map map_;
  std::pmr::vector<std::uint32_t> out_at_;  // ranks + 1: where each rank's part of this rank's list begins
  std::pmr::vector<std::uint32_t> in_at_;   // ranks + 1: where each rank's part of index_ begins
  std::size_t stay_ = 0;                    // blocks that this rank keeps
  std::pmr::vector<slot> index_;            // where the blocks of others go
  std::pmr::vector<slot> staged_;           // where the blocks in staging go
  std::pmr::vector<slot> sources_;          // places that are taken; then, of blocks that stay, while they are permuted
  const listed* list_ = nullptr;            // in this rank's payload area of the first step
  mailbox::kind transport_ = mailbox::kind::none;
  std::uint64_t copied_;
  std::size_t space_ = 0;  // that it has used
  bool moves_here_ = false;
};

}  // namespace taquin::detail
