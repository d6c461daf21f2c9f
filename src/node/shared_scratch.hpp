// Scratch that the ranks of a node share, and the counter by which they wait for each other.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "node/arena.hpp"

namespace taquin::detail {

/// Not a window of MPI's: to free a window is collective, to free a plan is local. Move-only; empty where there is no
/// memory.
class shared_scratch final : public outliving {
 public:
  shared_scratch() noexcept = default;

  /// `bytes` bytes for the ranks of `node`, the first `zeros` of them zero. Collective; empty on all ranks where one of
  /// them cannot have it, as where they are not on one machine.
  static shared_scratch make(MPI_Comm node, std::size_t bytes, std::size_t zeros = 0);
  /// Bytes that make uses beside the data.
  static constexpr std::size_t overhead = arena::header + cache_line;

  [[nodiscard]] bool empty() const noexcept { return memory_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] std::byte* data() const noexcept { return memory_.data() + cache_line; }

  void outlive() noexcept override { memory_.outlive(); }

  /// A rank that has waited for this arrival sees all that this rank wrote before.
  void arrive() noexcept { arrivals().fetch_add(1, std::memory_order_release); }
  /// True when each rank has arrived that often since the base.
  [[nodiscard]] bool all_arrived(int times) const noexcept {
    return arrivals().load(std::memory_order_acquire) >= base_ + static_cast<std::uint64_t>(times) * ranks_;
  }
  /// An exchange is complete, in which each rank arrives so often.
  void add_to_base(int times) noexcept { base_ += static_cast<std::uint64_t>(times) * ranks_; }

 private:
  using counter = std::atomic<std::uint64_t>;
  [[nodiscard]] counter& arrivals() const noexcept { return *reinterpret_cast<counter*>(memory_.data()); }

  arena_block memory_;  // the first rank's: the counter of arrivals, then the data
  std::size_t bytes_ = 0;
  std::uint64_t ranks_ = 1;
  std::uint64_t base_ = 0;  // arrivals before this exchange; each rank counts for itself
};

}  // namespace taquin::detail
