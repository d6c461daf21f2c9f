// Notices that go through other ranks, over MPI.
#pragma once

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/router.hpp"

namespace taquin::detail {

/// Every notice through a router of this radix.
void find_routed(finding& f, int radix);
std::uint64_t routed_nanoseconds(const sparse_shape& s, int radix) noexcept;
std::size_t routed_memory(int ranks, int radix, std::size_t message_bytes) noexcept;

/// The functions of an algorithm that differs from others by the radix alone.
template <int (*radix)(int ranks, std::size_t in_flight) noexcept>
struct routed {
  static void find(finding& f) { find_routed(f, radix(f.comm.size(), f.in_flight)); }
  static std::size_t memory(int ranks, std::size_t in_flight, std::size_t message_bytes) noexcept {
    return routed_memory(ranks, radix(ranks, in_flight), message_bytes);
  }
  static std::uint64_t nanoseconds(const sparse_shape& s) noexcept {
    return routed_nanoseconds(s, radix(s.ranks, s.in_flight));
  }
};

}  // namespace taquin::detail
