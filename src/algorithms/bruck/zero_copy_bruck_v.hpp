// The schedule of zero_copy_bruck_v, from the sizes of the elements that a rank receives in each round.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "algorithms/bruck/bruck_v_schedule.hpp"
#include "algorithms/bruck/bruck_v_state.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"
#include "taquin/datatypes.hpp"

namespace taquin::detail::bruck {

using wide_history = history_of<wide_size>;

/// All blocks take the log rounds.
inline route zero_copy_v_route(const shape& s, const options& o) noexcept {
  return {s.ranks, radix_of(o, s.ranks), static_cast<count_t>(s.max_block_bytes)};
}

/// A bound on the runs of buckets in the messages of one rank, and on the parts of its schedule.
std::size_t bucket_runs(const route& r) noexcept;
schedule_size zero_copy_v_size(const shape& s, const route& r) noexcept;

/// The bytes that building and running the schedule take, with one datatype for each run of buckets.
std::size_t zero_copy_v_memory(const shape& s, const route& r) noexcept;

/// Each run of buckets is one element of a bucket datatype, which `types` then owns. With null, as where no MPI runs,
/// its blocks are regions one by one.
schedule zero_copy_v_schedule(const local_exchange& x, const shape& s, const route& r,
                              const std::pmr::vector<wide_size>& received, std::pmr::vector<datatype>* types,
                              std::pmr::memory_resource* memory);

}  // namespace taquin::detail::bruck
