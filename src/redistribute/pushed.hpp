// A redistribution of few blocks whose owners send them without being asked.
//
// In one exchange every rank tells every other one how many blocks it sends to whom, and where those for it go. So all
// ranks know alike whether all maps are valid and no rank gets more blocks than it has places. Then the blocks are sent
// and received into staging. Meanwhile a reduction tells whether two blocks go to one place. Where none do, and this
// rank has received and sent everything, it puts the blocks to their places: until then nothing of its array has
// changed. Otherwise what has come is dropped, and the ranks go the long way, which finds out why.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/sizes.hpp"
#include "redistribute/machine.hpp"

namespace taquin::detail {

class pushed_blocks {
 public:
  static constexpr std::string_view name = "pushed";
  /// Whether blocks can go this way, where ranks have so many; the same on all ranks. It takes no more memory than
  /// `slots` then.
  static bool suit(std::span<const count_t> blocks, const buffer_sizes& s) noexcept;
  /// Redistributes, and learns `t`, which the map after a failure needs. `valid`: this rank's map is. `done` is false,
  /// on all ranks alike, where nothing has changed.
  static task run(machine& m, targets& t, std::span<const count_t> blocks, bool valid, bool& done);
};

}  // namespace taquin::detail
