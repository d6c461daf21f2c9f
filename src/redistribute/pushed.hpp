// A redistribution of few blocks whose owners send them without a request.
//
// In one exchange every rank sends every other one how many blocks it sends to each rank, and the places of those for
// it. So all ranks know whether all maps are valid and no rank receives more blocks than it has places. Then the blocks
// are sent and received into staging. Meanwhile a reduction finds whether two blocks go to one place. If none do, and
// this rank has received and sent everything, it moves the blocks to their places: until then its array is unchanged.
// Otherwise the received blocks are dropped, and the ranks take the general path, which finds the reason.
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
  /// Whether blocks can be sent so, if ranks have so many; the same on all ranks. It uses no more memory than `slots`
  /// then.
  static bool suit(std::span<const count_t> blocks, const buffer_sizes& s) noexcept;
  /// Redistributes, and fills `t`, which the map after a failure needs. `valid`: this rank's map is. `done` is false,
  /// on all ranks, if nothing has changed.
  static task run(machine& m, targets& t, std::span<const count_t> blocks, bool valid, bool& done);
};

}  // namespace taquin::detail
