// A communicator's memory for its calls on one node, and such memory of freed communicators, cached for later ones.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/failure.hpp"
#include "node/channel.hpp"
#include "node/peer_records.hpp"

namespace taquin::detail {

/// Bytes of this process's parts of all channels.
inline std::atomic<std::size_t> bytes_of_channels{0};
/// A handle may mean another communicator once this has grown.
inline std::atomic<std::uint64_t> communicators_freed{0};

/// A number that identifies a communicator's processes and their order; 0 where some are not of MPI_COMM_WORLD.
/// Different ones have the same number only by a rare chance. Local.
std::uint64_t number_of_ranks(MPI_Comm comm);

/// The memory that a freed communicator leaves to a later one of the same ranks.
struct kept_channel {
  channel shared;
  std::shared_ptr<mpi::call_record> record;
  std::shared_ptr<peer_records> records;
  std::size_t bytes = 0;
  std::uint64_t ranks = 0;  // which ones, in which order
  std::uint64_t token = 0;  // of the channel's memory

  /// The same on ranks that have the same memory and have gone through the same steps.
  [[nodiscard]] std::uint64_t known_as() const noexcept {
    return shared.empty() ? 0 : token + shared.step() * 0x9e3779b97f4a7c15U;
  }
  /// Nothing of the freed communicator's uses its record any more.
  [[nodiscard]] bool is_whole() const noexcept { return !shared.empty() && record.use_count() == 1; }
};

/// The memory and records of a communicator, as an attribute of it.
struct comm_channel : kept_channel {
  bool made = false;               // the communicator has all of its objects; before that it may be lost
  bool for_others = true;          // the channel may serve another communicator
  comm_channel* before = nullptr;  // of those in use
  comm_channel* after = nullptr;

  comm_channel() = default;
  comm_channel(const comm_channel&) = delete;
  comm_channel& operator=(const comm_channel&) = delete;
  void no_longer_of_user() const noexcept {
    if (record == nullptr) return;
    record->shown = nullptr;
    mpi::forget_user(*record);
  }
  ~comm_channel() {
    no_longer_of_user();
    bytes_of_channels -= bytes;
    ++communicators_freed;
  }
};

/// Whether ranks enter the first calls on communicators of the same ranks in the same order. With one thread they do:
/// such calls may wait for all ranks, so programs that use another order may hang with any MPI library. Local.
bool arrive_in_one_order();

/// The channels that communicators of this process have, and cached channels of freed communicators, for later ones of
/// the same ranks: some programs and libraries make communicators again and again, for a few calls each, and the system
/// takes long to share and clear memory. The records of calls are cached with a channel: the other ranks know their
/// addresses.
class channels_of_process {
 public:
  static channels_of_process& get() {
    // Not destroyed: communicators may be freed after static objects. Not from the heap: a rank without memory could
    // not report it to the others here.
    alignas(channels_of_process) static std::array<std::byte, sizeof(channels_of_process)> place;
    static auto* const all = new (place.data()) channels_of_process;
    return *all;
  }
  /// Every channel that a communicator has is known from here on, until it is freed.
  void add(comm_channel& a) noexcept;
  void remove(comm_channel& a) noexcept;
  /// Caches the communicator's channel if it can serve again. The other ranks see whether it can.
  void keep(MPI_Comm comm, comm_channel& a) noexcept;
  /// Takes a cached channel of the same ranks in the same order; empty if there is none. Ranks that have several take
  /// the same: they may have cached them in any order, so the largest token decides. Its memory is no longer counted.
  kept_channel take(std::uint64_t ranks) noexcept {
    const std::scoped_lock lock(mutex_);
    std::size_t best = cached_.size();
    for (std::size_t i = 0; i < cached_.size(); ++i)
      if (cached_[i].ranks == ranks && (best == cached_.size() || cached_[i].token > cached_[best].token)) best = i;
    if (best == cached_.size()) return {};
    kept_channel found = std::move(cached_[best]);
    bytes_of_channels -= found.bytes;
    cached_.erase(cached_.begin() + static_cast<std::ptrdiff_t>(best));
    return found;
  }
  /// Puts back the result of take(), which is not used.
  void give_back(kept_channel cached) noexcept {
    if (cached.shared.empty()) return;
    const std::scoped_lock lock(mutex_);
    bytes_of_channels += cached.bytes;
    if (cached_.size() == most) drop_at(0);
    cached_.push_back(std::move(cached));  // there is room for it, as before
  }
  /// Announces to the other ranks that this one begins with another communicator of the same ranks, and that channels
  /// which it still uses for them are not for that one: others may have freed their communicators.
  void publish_in_use(std::uint64_t ranks) noexcept;
  /// Frees its cached channels for these ranks, and announces it.
  void drop(std::uint64_t ranks) noexcept;
  void drop_all() noexcept {
    const std::scoped_lock lock(mutex_);
    while (!cached_.empty()) drop_at(cached_.size() - 1);
  }

 private:
  bool keeps(MPI_Comm comm, comm_channel& a) noexcept;
  static constexpr std::size_t most = 4;
  static constexpr std::size_t most_bytes = std::size_t{2} << 20U;  // of each
  void drop_at(std::size_t i) noexcept {
    if (one_order_) cached_[i].shared.publish_gone();
    bytes_of_channels -= cached_[i].bytes;
    cached_.erase(cached_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const bool one_order_ = arrive_in_one_order();
  std::mutex mutex_;
  std::vector<kept_channel> cached_;
  comm_channel* in_use_ = nullptr;
};

}  // namespace taquin::detail
