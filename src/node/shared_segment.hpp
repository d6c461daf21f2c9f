// Memory that the ranks of a node share, and the counter by which they wait for each other.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace taquin::detail {

/// Shared memory of the operating system. Not a window of MPI's: to free a window is collective, to free a plan is
/// local. Move-only; empty where there is none.
class shared_segment {
 public:
  shared_segment() noexcept = default;
  shared_segment(shared_segment&& other) noexcept;
  shared_segment& operator=(shared_segment&& other) noexcept;
  ~shared_segment();

  /// A segment of `bytes` data bytes for the ranks of `node`, all of them on one machine. Collective; empty on all
  /// ranks where one of them cannot have it. Nothing of it has a name when this returns, so that nothing stays behind
  /// a process that is killed.
  static shared_segment make(MPI_Comm node, std::size_t bytes);
  /// What make takes beside the data.
  static constexpr std::size_t overhead = 64;

  [[nodiscard]] bool empty() const noexcept { return memory_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(memory_) + overhead; }

  /// What this rank wrote before is seen by who has waited for the arrival.
  void arrive() noexcept { counter().fetch_add(1, std::memory_order_release); }
  /// Each rank has arrived so often since the base.
  [[nodiscard]] bool all_arrived(int times) const noexcept {
    return counter().load(std::memory_order_acquire) >= base_ + static_cast<std::uint64_t>(times) * ranks_;
  }
  /// An exchange is over, in which each rank arrives so often.
  void add_to_base(int times) noexcept { base_ += static_cast<std::uint64_t>(times) * ranks_; }

 private:
  using counter_type = std::atomic<std::uint64_t>;
  static_assert(counter_type::is_always_lock_free);  // so that it works between processes
  [[nodiscard]] counter_type& counter() const noexcept { return *static_cast<counter_type*>(memory_); }

  void* memory_ = nullptr;  // the counter, then the data
  std::size_t size_ = 0;
  std::uint64_t ranks_ = 1;
  std::uint64_t base_ = 0;  // arrivals before this exchange; each rank counts for itself
};

}  // namespace taquin::detail
