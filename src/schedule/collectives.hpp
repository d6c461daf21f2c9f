// The hypercubic collectives as schedules: pure, for one rank of p.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>

#include "schedule/schedule.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

enum class collective : std::uint8_t { barrier, broadcast, reduce, allreduce, gather, allgather, scatter, scan };
inline constexpr std::array all_collectives{collective::barrier,   collective::broadcast, collective::reduce,
                                            collective::allreduce, collective::gather,    collective::allgather,
                                            collective::scatter,   collective::scan};
std::string_view name_of(collective what) noexcept;

/// The schedule of `rank` for `count` elements of `e` per rank. Input in place::send (broadcast: in place::recv at the
/// root), output in place::recv.
schedule build_collective(collective what, int rank, int ranks, int root, count_t count, const element& e,
                          std::pmr::memory_resource* memory);

/// The most that an allreduce's schedule has, beside the scratch of one rank's elements.
schedule_size allreduce_size(int ranks) noexcept;

/// The closed form of its time under Hockney's model with root 0: MPI primitives §4, `bytes` per rank.
seconds closed_form(collective what, int ranks, count_t bytes, const hockney& h);

}  // namespace taquin::detail
