// The common part of zero_copy_bruck and lean_bruck: rounds that receive blocks where these wait for the next message.
#pragma once

#include <cstddef>
#include <memory_resource>

#include "algorithms/bruck/bruck.hpp"

namespace taquin::detail::bruck {

/// Where element j waits: 0 … p−1 is the receive block of that many ranks ahead, p and more are slots of scratch.
using location = int;
constexpr location in_send_buffer = -1;

/// The places of elements between rounds.
class placement {
 public:
  placement() = default;
  placement(const placement&) = delete;
  placement& operator=(const placement&) = delete;
  virtual ~placement() = default;
  /// Where the message that moves element j by its digit of weight `weight` puts it.
  [[nodiscard]] virtual location after(count_t weight, int j) const = 0;
};

/// The digits of j beyond that of weight `weight` that are not zero.
int higher_digits(int radix, count_t weight, int j) noexcept;

/// The next lower weight at which j has a digit that is not zero; 0 if there is none.
count_t weight_before(int radix, count_t weight, int j) noexcept;

schedule_size zero_copy_size(const figures& f, bruck_layout layout) noexcept;
std::size_t zero_copy_memory(const shape& s, const figures& f, bruck_layout layout,
                             std::size_t scratch_blocks) noexcept;
schedule zero_copy_schedule(const local_exchange& x, const shape& shape, int radix, bruck_layout layout,
                            const placement& places, std::size_t scratch_blocks, std::pmr::memory_resource* memory);

}  // namespace taquin::detail::bruck
