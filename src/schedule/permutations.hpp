// Permutations: every rank sends to one other and receives from one, as schedules.
//
// Source: Communication Patterns and MPI Primitives, §3. docs/internals/patterns.md shows how naive versions fail.
#pragma once

#include <array>
#include <memory_resource>
#include <string_view>

#include "schedule/schedule.hpp"
#include "taquin/patterns.hpp"

namespace taquin::detail {

inline constexpr std::array all_permutations{patterns::permutation::shift, patterns::permutation::ring,
                                             patterns::permutation::hypercube};
std::string_view name_of(patterns::permutation kind) noexcept;
/// One line, for lists.
std::string_view summary_of(patterns::permutation kind) noexcept;

/// The order in which a rank acts. Only `together` neither serialises nor deadlocks whatever the size of the messages.
enum class ordering : std::uint8_t {
  together,   ///< send and receive in one round
  send_first  ///< first send, then receive: the trap
};

/// One permutation by k (for `shift` and `ring` any sign) of `count` elements, from place::send to place::recv.
schedule permute(patterns::permutation kind, ordering order, int rank, int ranks, int k, count_t count,
                 const element& e, std::pmr::memory_resource* memory);

}  // namespace taquin::detail
