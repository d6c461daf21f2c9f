// The progress record of this process, for waiting ranks of its node: they read it from its memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace taquin::mpi {

enum class call_kind : std::uint8_t { alltoall, alltoallv, alltoallw, redistribution, sparse, migration };

/// The failure record of an aborting rank, in memory that others read.
struct alignas(64) abort_record {
  std::atomic<std::uint64_t> first{0};  ///< the rank that aborted first, plus 1; written last
  std::array<char, 184> why{};          ///< its error
};

/// A number that no other record of this process has; never 0, and unlike what is found in memory that is used again.
std::uint32_t next_identity() noexcept;

/// Counters of a communicator: ranks that make the same calls have the same numbers.
struct alignas(64) call_record {
  std::atomic<std::uint64_t> calls{0};  ///< exchanges, plans made, starts of plans, redistributions
  /// Other processes that have the record's address read by this whether it is still there; 0 when it is gone.
  std::atomic<std::uint32_t> identity{next_identity()};
  std::array<char, 42> name{};    ///< the communicator's
  std::atomic<bool> lost{false};  ///< this rank has aborted a call: its peers may be elsewhere in it
  /// Functions of the program that pending operations on the communicator are calling on this rank (user_code.hpp).
  std::atomic<std::uint8_t> user_code{0};
  /// Where the ranks of a node that share memory poll for this rank's failure; null: nowhere.
  std::atomic<abort_record*> shown{nullptr};

  call_record() = default;
  call_record(const call_record&) = delete;
  call_record& operator=(const call_record&) = delete;
  ~call_record() { identity.store(0, std::memory_order_relaxed); }

  /// This rank aborts a call; `first`: the rank that has done so first, and its error.
  void abort(int first, std::string_view why) noexcept;
};
static_assert(sizeof(call_record) == 64);

/// The process's last call: the address of its communicator's record, and the flags below in the low bits.
struct progress_record {
  static constexpr std::uint64_t inside = 1;  ///< it is in that call
  static constexpr std::uint64_t in_place = 8;
  static constexpr std::uint64_t plan = 16;
  static constexpr std::uint64_t bits = 63;

  std::atomic<std::uint64_t> last{0};

  // Bits 1, 2 and 5.
  static constexpr std::uint64_t of(call_kind kind) noexcept {
    const auto k = static_cast<std::uint64_t>(kind);
    return (k & 3U) << 1U | (k & 4U) << 3U;
  }
  static constexpr call_kind kind(std::uint64_t word) noexcept {
    return static_cast<call_kind>((word >> 1U & 3U) | (word >> 3U & 4U));
  }
};
extern constinit progress_record here;

/// Throws the usage_error of a communicator that this rank has lost.
[[noreturn]] void refuse_lost(const call_record& r);
/// Throws the peer_aborted of rank `who` of the communicator; `why` may be empty.
[[noreturn]] void refuse_without(int who, std::string_view why, const call_record& r);

/// Throws the usage_error of a call that is made by a function which a pending operation on the same communicator has
/// called. All ranks that make the call throw it, before they communicate.
[[noreturn]] void refuse_nested(const call_record& r);

/// Throws if no call may begin on the communicator. It is lost: messages and mailboxes of the aborted call could match
/// those of the next. Or a function of the program runs inside an operation on it: the call would use the memory and
/// tags of that operation. Local.
inline void check_may_call(const call_record& r) {
  if (r.lost.load(std::memory_order_relaxed)) [[unlikely]]
    refuse_lost(r);
  if (r.user_code.load(std::memory_order_relaxed) != 0) [[unlikely]]
    refuse_nested(r);
}

/// Counts a call; returns its number. Throws if none may begin.
inline std::uint64_t count_call(call_record& r) {
  check_may_call(r);
  const std::uint64_t number = r.calls.load(std::memory_order_relaxed) + 1;
  r.calls.store(number, std::memory_order_relaxed);
  return number;
}

/// Scope guard: this rank is in a call. Two stores.
class in_call {
 public:
  in_call(const call_record* r, std::uint64_t call_word) noexcept
      : word_(reinterpret_cast<std::uint64_t>(r) | call_word) {
    here.last.store(word_ | progress_record::inside, std::memory_order_relaxed);
  }
  in_call(const in_call&) = delete;
  in_call& operator=(const in_call&) = delete;
  ~in_call() { here.last.store(word_, std::memory_order_relaxed); }

 private:
  std::uint64_t word_;
};

}  // namespace taquin::mpi
