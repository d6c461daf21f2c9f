// The first calls on a communicator, which go to the MPI library, and what their ranks tell each other.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "taquin/types.hpp"

namespace taquin::detail {

/// What a rank brings to one of the first calls on a communicator. The call goes to the MPI library if every rank's
/// call can: memory that ranks share takes long to make, and many communicators are made for a call or two.
class first_call {
 public:
  first_call(const first_call&) = delete;
  first_call& operator=(const first_call&) = delete;
  /// How many of a communicator's calls may go to the MPI library, unless those of this program live a little longer.
  static constexpr int most(int ranks) noexcept { return ranks <= 64 ? 2 : 4; }
  /// The call goes to the MPI library without agreement, and the MPI library judges the arguments. The same on all
  /// ranks.
  [[nodiscard]] virtual bool unasked() const noexcept = 0;
  /// Takes all memory that the call in the MPI library needs. False where this rank cannot make it.
  virtual bool prepare(int rank, int ranks) noexcept = 0;
  /// The sum of this over all ranks is 0 if ranks make the same call, and otherwise only by a rare chance. After
  /// prepare().
  [[nodiscard]] virtual std::uint64_t differs() const noexcept = 0;
  /// Bytes of the longest block that the rank sends. After prepare().
  [[nodiscard]] virtual count_t longest() const noexcept = 0;
  /// Packs the block for a peer into `room`, which holds it. After prepare().
  virtual void write(int peer, std::span<std::byte> room) const = 0;
  /// Takes the block of a peer, which is at the beginning of `room`. When all are taken the call is made.
  virtual void read(int peer, std::span<const std::byte> room) = 0;
  /// Makes the call in the MPI library, on all ranks. Nothing is made for the communicator.
  bool by_library = false;

 protected:
  first_call() = default;
  ~first_call() = default;
};

/// What ranks tell each other, of which all know the sums.
struct first_words {
  std::uint64_t cannot = 1;        ///< the rank's call must not go to the MPI library
  std::uint64_t differs = 0;       ///< first_call::differs
  std::uint64_t other_memory = 0;  ///< 0 in sum where all ranks have kept the same memory
  std::uint64_t goes_on = 1;       ///< the rank expects more than a few further calls
  std::uint64_t longest = 0;       ///< how long the rank's blocks are: see first_agreement
};

/// The agreement of a first call. Among up to 16 ranks it is one MPI_Alltoall of records, which hold the blocks of the
/// call if they are short: these need no second exchange. Records are as long as the blocks of the communicator's last
/// call need. Where those were longer than any record it is one reduction.
class first_agreement {
 public:
  /// Bytes of a record in the first call on a communicator.
  static constexpr std::size_t least_record = 512;
  /// Of one in the call after that of these sums; 0: a reduction. The same on all ranks.
  static std::size_t next_record(const first_words& sums, int ranks) noexcept;

  /// The sums. `call`: null where this rank's cannot go to the MPI library. `record`: its bytes, the same on all ranks;
  /// 0: a reduction. Collective.
  first_words sum(first_words mine, const first_call* call, int ranks, std::size_t record, MPI_Comm comm);
  /// If all blocks have come, in a call that goes to the MPI library: the call takes them.
  void deliver(first_call& call, int ranks) const;

 private:
  // All records of a rank, as they leave or come.
  struct alignas(first_words) records {
    static constexpr std::size_t most = std::size_t{16} << 10U;
    std::array<std::byte, most> bytes;
  };
  [[nodiscard]] std::span<const std::byte> record_of(int peer) const noexcept;

  records from_;
  std::size_t record_ = 0;
  bool came_ = false;
};

}  // namespace taquin::detail
