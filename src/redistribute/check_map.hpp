// Checks of a map of blocks, before anything moves, with the same result on all ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "exchange/validate.hpp"
#include "redistribute/machine.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

/// A map as the caller gives it. If blocks are divided, units() and the fields after it are of the parts.
struct given_map {
  count_t length = 0;
  count_view ranks;
  count_view indices;
  const char* invalid_text = nullptr;  ///< that of the interface on top; null: none
  count_t parts = 1;                   ///< of a block

  [[nodiscard]] count_t units() const noexcept { return length * parts; }
  [[nodiscard]] count_t rank(count_t unit) const noexcept { return ranks[static_cast<int>(unit / parts)]; }
  [[nodiscard]] count_t index(count_t unit) const noexcept {
    return indices[static_cast<int>(unit / parts)] * parts + unit % parts;
  }

  template <class Index>
  static given_map of(std::span<const int> ranks, std::span<const Index> indices) {
    return {static_cast<count_t>(ranks.size()), count_view(ranks.data()), count_view(indices.data()),
            ranks.size() == indices.size() ? nullptr : "destinations must have as many indices as ranks"};
  }
};

/// The error in the arguments of a redistribution; `invalid_text`: that of the interface on top. Local.
std::optional<invalid_argument> check_arguments(const void* data, count_t blocks, count_t length, MPI_Datatype type,
                                                const redistribute_options& o, const char* invalid_text);

/// The first destination out of range, if any. `units` holds the length of every rank's array. Local, linear.
std::optional<invalid_argument> check_ranges(const given_map& map, std::span<const count_t> units, int rank);

/// Throws usage_error on this rank unless each of `blocks` has an index, and a rank of −1 to `ranks` − 1.
void check_sort(std::span<const int> dest_ranks, std::size_t indices, count_t blocks, int ranks);

/// Throws the error of any rank, if there is one, on every rank.
task agree_on(machine& m, const std::optional<invalid_argument>& invalid);

/// Throws usage_error on every rank when two blocks go to one place, naming both. A reduction. `t` is learnt.
task check_injective(machine& m, const targets& t);

}  // namespace taquin::detail
