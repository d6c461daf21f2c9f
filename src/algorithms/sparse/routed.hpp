// Notices that go through other ranks, over MPI.
#pragma once

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/router.hpp"

namespace taquin::detail {

/// Every notice by way of a router of this radix.
void find_routed(finding& f, int radix);
std::uint64_t routed_nanoseconds(const sparse_shape& s, int radix) noexcept;
std::size_t routed_memory(int ranks, int radix, std::size_t message_bytes) noexcept;

}  // namespace taquin::detail
