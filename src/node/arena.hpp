// This process's memory for exchanges on its node: segments that other processes map once, when they first share a
// communicator with it. A communicator, or a plan, gets a block of each of its processes' segments, and gives it back.
//
// A block is its owner's again once its owner and all other processes that were given it have left it. Those count down
// in the block: so no process has to ask another one, and leaving is local. Segments stay until the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/outliving.hpp"
#include "base/sizes.hpp"
#include "node/mapping.hpp"

namespace taquin::detail {

/// Where other processes find a block. Plain data, for messages.
struct arena_place {
  mapping_key segment{};
  std::uint64_t offset = 0;

  [[nodiscard]] bool empty() const noexcept { return segment.file < 0; }
};

class arena {
 public:
  /// Bytes of a block beside its data: the number of other processes that have not left it.
  static constexpr std::size_t header = cache_line;
  /// The least segment; each is twice as long as the one before, up to the most, and as a block needs.
  static constexpr std::size_t least_segment = std::size_t{2} << 20U;
  static constexpr std::size_t most_segment = std::size_t{64} << 20U;
  /// Free blocks keep pages of so many bytes; the system gets back the others.
  static constexpr std::size_t most_kept = std::size_t{8} << 20U;

  static arena& of_process() noexcept;
  arena() noexcept = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// A block of this process for `others` more; null where there is no memory. Its data are not zero. Local.
  std::byte* allocate(std::size_t bytes, int others, arena_place& where) noexcept;
  /// Another process's block; null where it cannot be reached. Local.
  std::byte* attach(const arena_place& where) noexcept;
  /// This process needs a block no more: its own, or one that it has attached. Local.
  void leave(std::byte* data) noexcept;
  /// The same where all processes have agreed not to use it: none of them counts it down.
  void take_back(std::byte* data) noexcept;
  /// Whether the process of an attached block permits what `ask()` finds out: asked until it is true, then no more.
  template <class Ask>
  bool permits(const std::byte* data, Ask ask) {
    const std::scoped_lock lock(mutex_);
    others_segment& s = segment_of(data);
    s.permits = s.permits || ask();
    return s.permits;
  }

 private:
  enum class state : std::uint8_t { empty, kept, used, left };  // of the first, the system has the pages
  struct block {
    std::size_t at = 0;  // in the segment's data
    std::size_t bytes = 0;
    state is = state::empty;
  };
  struct own_segment {
    mapping memory;
    mapping_key key{};
    std::vector<block> blocks;  // all of it, in order
  };
  struct others_segment {
    mapping memory;
    mapping_key key{};
    std::size_t attached = 0;  // its blocks
    bool permits = false;
  };

  std::byte* take(own_segment& s, std::size_t bytes, state from);
  bool grow(std::size_t bytes);
  void collect(own_segment& s) noexcept;
  void free(own_segment& s, std::size_t i) noexcept;
  others_segment* reach(const mapping_key& key) noexcept;
  others_segment& segment_of(const std::byte* data) noexcept;
  bool of_own(const std::byte* data, bool unused) noexcept;
  void forget_ended() noexcept;

  std::mutex mutex_;
  std::vector<own_segment> own_;
  std::vector<others_segment> others_;
  std::size_t kept_ = 0;  // bytes of the blocks that are kept
};

/// A block as one process has it. Move-only; empty where there is none.
class arena_block final : public outliving {
 public:
  arena_block() noexcept = default;
  static arena_block make(std::size_t bytes, int others, arena_place& where) noexcept {
    return arena_block(arena::of_process().allocate(bytes, others, where));
  }
  static arena_block attach(const arena_place& where) noexcept {
    return arena_block(arena::of_process().attach(where));
  }
  arena_block(arena_block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), outlives_(std::exchange(other.outlives_, false)) {}
  arena_block& operator=(arena_block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(outlives_, other.outlives_);
    return *this;
  }
  ~arena_block() {
    if (data_ != nullptr && !outlives_) arena::of_process().leave(data_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] bool empty() const noexcept { return data_ == nullptr; }
  void take_back() noexcept {
    if (data_ != nullptr) arena::of_process().take_back(std::exchange(data_, nullptr));
  }
  /// Stays this process's, as it is, until the process ends.
  void outlive() noexcept override { outlives_ = true; }

 private:
  explicit arena_block(std::byte* data) noexcept : data_(data) {}
  std::byte* data_ = nullptr;
  bool outlives_ = false;
};

/// A block of each of a group's processes, as one of them has them. Move-only.
class arena_parts {
 public:
  arena_parts() noexcept = default;
  arena_parts(arena_parts&&) noexcept = default;
  arena_parts& operator=(arena_parts&& other) noexcept;
  ~arena_parts();
  /// Bytes of a rank's part beside its data.
  static constexpr std::size_t overhead(std::size_t ranks) noexcept { return arena::header + table_bytes(ranks); }

  /// This rank's part; empty where there is no memory. Local.
  static arena_parts make(int rank, int ranks, std::size_t bytes, arena_place& where) noexcept;
  /// Another rank's part. False where it cannot be reached. Local.
  bool attach(int rank, const arena_place& where) noexcept;
  /// All ranks have agreed to use none of them. Local.
  void take_back() noexcept;

  [[nodiscard]] bool empty() const noexcept { return own_.empty(); }
  /// A rank's data.
  [[nodiscard]] std::byte* operator[](int rank) const noexcept { return table()[rank]; }

 private:
  // The addresses are in this rank's part, so that nothing has to be allocated once ranks have agreed.
  static constexpr std::size_t table_bytes(std::size_t ranks) noexcept {
    return up_to_line(ranks * sizeof(std::byte*));
  }
  [[nodiscard]] std::byte** table() const noexcept { return reinterpret_cast<std::byte**>(own_.data()); }
  template <class Each>
  void each_of_others(Each f) noexcept;

  arena_block own_;
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace taquin::detail
