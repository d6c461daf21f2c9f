// Exchange between ranks of one node through memory that all of them have mapped: mailboxes from each to each,
// and a payload area for data that all can read.
//
// The ranks go through steps together. In each, a rank writes a mailbox for every other rank, and longer data into its
// own payload area. Then it waits until the mailboxes of all others have arrived. The step's number is written last
// into a mailbox (release) and read first (acquire): a rank that sees the number sees the mailbox and the data.
//
// Mailboxes and payload areas are double buffers, selected by the parity of the step. A rank reuses a buffer two steps
// later. By then every other rank has entered the step in between, and a rank enters a step only after it has read all
// that it needs of the step before. So no rank waits for readers. Data that readers fetch from the rank's own buffers
// are the exception: a reader sets `fetched` when it has all of them, and the sender polls `has_fetched`. A sender that
// must not wait for its readers offers such data instead: a reader claims the offer before it copies, and the sender
// may revoke it and copy the data into its payload area.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "mpi/deadline.hpp"
#include "mpi/progress_record.hpp"
#include "node/arena.hpp"
#include "node/peer_records.hpp"

namespace taquin::detail {

/// A mailbox: the record of one rank for another in a step, in a cache line.
struct alignas(64) mailbox {
  enum class kind : std::uint8_t {
    none,       ///< nothing for the reader
    here,       ///< the block is in this mailbox
    payload,    ///< in the sender's payload area, at offset `place`
    remote,     ///< in the sender's memory, at address `place`: the reader fetches it
    mapped,     ///< in a shared buffer of the sender: the reader maps it and copies; `data` identifies the buffer
    chunks,     ///< in chunks through the payload area, in the steps that follow
    record,     ///< no block: the sender's payload area begins with a record for all
    offered,    ///< as `mapped` if `data` names a shared buffer, otherwise as `remote`: the reader claims it first
    claimed,    ///< offered before: the reader copies it
    withdrawn,  ///< offered before: the sender copies it into its payload area
    moved,      ///< offered before: in the sender's payload area, at offset `place`
    taken,      ///< offered before: the reader has it
    unread,     ///< the kernel refuses to let the reader read it: a request will follow
    requested,  ///< the reader requests a part of it: requested_copy.hpp
    given,      ///< the part is in the sender's other buffer
  };
  static constexpr std::size_t capacity = 32;

  std::atomic<std::uint64_t> step{0};
  std::uint32_t choices = 0;  ///< a hash of all that must be identical on all ranks
  std::uint32_t steps = 0;    ///< chunks: further steps that the sender needs
  std::atomic<std::uint64_t> size_and_kind{0};
  std::uint64_t place = 0;
  std::array<std::byte, capacity> data;

  /// Whether the reader of such a mailbox may still have to copy out of the sender's memory.
  [[nodiscard]] static bool may_be_read(kind what) noexcept {
    return what == kind::remote || what == kind::mapped || what == kind::offered || what == kind::claimed ||
           what == kind::unread || what == kind::requested || what == kind::given;
  }

  void describe(kind what, std::uint64_t bytes) noexcept {
    size_and_kind.store(with_size(what, bytes), std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_and_kind.load(std::memory_order_relaxed) >> 8U; }
  /// A rank that sees the new state of an offer sees all that was written before.
  [[nodiscard]] kind what() const noexcept {
    return static_cast<kind>(size_and_kind.load(std::memory_order_acquire) & 0xffU);
  }
  /// Claims an offer, or revokes it: exactly one of the two sides succeeds.
  bool end_offer(kind next) noexcept {
    std::uint64_t open = with_size(kind::offered, size());
    return size_and_kind.compare_exchange_strong(open, with_size(next, size()), std::memory_order_acq_rel);
  }
  /// Called by the side that has ended the offer, or that reads the moved data.
  void become(kind next) noexcept { size_and_kind.store(with_size(next, size()), std::memory_order_release); }

 private:
  static std::uint64_t with_size(kind what, std::uint64_t bytes) noexcept {
    return (bytes << 8U) | static_cast<std::uint64_t>(what);
  }
};
static_assert(sizeof(mailbox) == 64);

/// The record that one rank of a channel publishes to the others when it is made.
struct node_member {
  std::uint64_t host = 0;
  std::uint64_t probe = 0;  ///< address of a word that the next rank reads by single copy
  arena_place part{};       ///< its part of the channel
  std::int32_t process = 0;
  std::int32_t processors = 0;  ///< that it may run on
  std::int32_t processor = 0;   ///< the first of them
  std::int32_t enabled = 0;     ///< it takes part; bit 1: single copy is wanted
  std::uint64_t last = 0;       ///< address of its progress record
  std::uint64_t calls = 0;      ///< address of its record of the communicator's calls
  std::uint32_t identity = 0;   ///< that record's
};

class channel final : private mpi::awaited, public mpi::abort_source {
 public:
  /// A channel for all ranks of `comm` with two buffers of `payload` bytes for each. Collective over `comm`: one small
  /// collective, then ranks of one machine wait for each other in their memory. Empty on all ranks unless all are on
  /// one machine and all could map the memory. `wanted` is false on a rank that takes no part. While it is made it uses
  /// `bookkeeping(ranks)` bytes from `memory`.
  static channel make(MPI_Comm comm, std::size_t payload, bool wanted,
                      std::pmr::memory_resource* memory = std::pmr::new_delete_resource());
  /// The same for a communicator's blocking calls. `calls` has its counters. `records`, with an entry for each rank,
  /// receives the addresses of progress records of this node's ranks. Both are null on a rank without memory for them.
  /// `all` has an entry for each rank, with the record that it has published.
  static channel make(MPI_Comm comm, std::size_t payload, bool wanted, mpi::call_record* calls, peer_records* records,
                      std::span<node_member> all);
  /// A payload area that serves blocking calls of `ranks` ranks.
  static std::size_t default_payload_bytes(int ranks) noexcept;
  /// Bytes of shared memory for each rank: mailboxes, a counter, and both buffers of its payload area.
  static std::size_t share(int ranks, std::size_t payload) noexcept;
  static std::size_t bookkeeping(int ranks) noexcept;

  channel() noexcept = default;
  channel(channel&&) noexcept = default;
  channel& operator=(channel&&) noexcept = default;

  /// The record of the communicator's calls; null except for a channel of blocking calls.
  [[nodiscard]] mpi::call_record* calls() const noexcept { return calls_; }
  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] std::size_t payload_bytes() const noexcept { return payload_bytes_; }
  /// The ranks are oversubscribed.
  [[nodiscard]] bool oversubscribed() const noexcept { return polls_ == 0; }
  [[nodiscard]] bool single_copies() const noexcept { return single_copies_; }
  [[nodiscard]] pid_t process(int rank) const noexcept { return static_cast<pid_t>(word(rank, process_word)); }

  /// Begins the next step.
  void begin() noexcept {
    ++step_;
    const std::size_t buffer = (step_ & 1U) * as_size(size_) * mailbox_bytes;
    written_ = part(rank_) + buffer;
    read_at_ = buffer + as_size(rank_) * mailbox_bytes;
  }
  /// The mailbox that this rank writes for `reader`.
  [[nodiscard]] mailbox& to(int reader) const noexcept { return reinterpret_cast<mailbox*>(written_)[reader]; }
  /// The mailbox that `writer` writes for this rank; valid after arrival. This rank only changes an offer's state.
  [[nodiscard]] mailbox& from(int writer) const noexcept {
    return *reinterpret_cast<mailbox*>(part(writer) + read_at_);
  }
  /// A rank's payload area of this step.
  [[nodiscard]] std::byte* payload(int rank) const noexcept {
    return part(rank) + head_ + (step_ & 1U) * payload_bytes_;
  }
  /// Its payload area of the step before and of the next one.
  [[nodiscard]] std::byte* other_payload(int rank) const noexcept {
    return part(rank) + head_ + (~step_ & 1U) * payload_bytes_;
  }
  /// Hands a mailbox over.
  void publish(int reader) const noexcept { to(reader).step.store(step_, std::memory_order_release); }
  [[nodiscard]] bool has_arrived(int writer) const noexcept {
    return from(writer).step.load(std::memory_order_acquire) >= step_;
  }
  /// Where a rank publishes that it has aborted a call.
  [[nodiscard]] mpi::abort_record& abort_of(int rank) const noexcept {
    return *reinterpret_cast<mpi::abort_record*>(part(rank) + mailboxes_bytes() + mailbox_bytes);
  }
  /// The number of this step.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  /// This rank has fetched all that it was offered in this step.
  void fetched() const noexcept { word(rank_, fetched_word).store(step_, std::memory_order_release); }
  [[nodiscard]] bool has_fetched(int reader, std::uint64_t step) const noexcept {
    return word(reader, fetched_word).load(std::memory_order_acquire) >= step;
  }
  /// This rank polls all mailboxes of this step now, and claims all their offers before it waits for anything.
  void polls_offers() const noexcept { word(rank_, looking_word).store(step_, std::memory_order_relaxed); }
  [[nodiscard]] bool is_looking(int reader) const noexcept {
    return word(reader, looking_word).load(std::memory_order_relaxed) >= step_;
  }

  /// Serves requests of readers that may not read this rank's memory (requested_copy.hpp). A rank that waits for its
  /// readers calls this again and again. Local; does not wait.
  void give_what_is_requested() const noexcept;

  /// Waits until `come()`; other processes run meanwhile, and the MPI library progresses now and then.
  template <class Come>
  void wait(Come arrived) const {
    for (int i = 0; !arrived(); ++i) pause(i);
  }
  /// Throws peer_aborted if another rank has aborted a call.
  void check_for_aborts() const override;
  /// The same without a check for ended processes, which costs more: for calls that wait for no rank.
  void poll_records() const;
  void wait_for_mailboxes() const {
    for (int k = 1; k < size(); ++k) {
      const int writer = (rank_ + k) % size();
      wait([&] { return has_arrived(writer); });
    }
  }

 private:
  static constexpr std::size_t mailbox_bytes = sizeof(mailbox);
  static constexpr std::size_t head_bytes(std::size_t ranks) noexcept {
    return (2 * ranks + 1) * mailbox_bytes + sizeof(mpi::abort_record);
  }
  [[nodiscard]] std::size_t mailboxes_bytes() const noexcept { return 2 * as_size(size_) * mailbox_bytes; }
  [[nodiscard]] std::byte* part(int rank) const noexcept { return parts_[rank]; }
  // After its mailboxes every rank has one more with these, and its failure record.
  static constexpr std::size_t fetched_word = 0;
  static constexpr std::size_t process_word = 1;
  static constexpr std::size_t looking_word = 2;
  static constexpr std::size_t join_word = 3;
  // The parts that a rank reaches, published when it has tried; 0 before.
  enum class reach : std::uint64_t { none = 1, all, copies };
  bool join(std::span<const node_member> all);
  [[nodiscard]] std::atomic<std::uint64_t>& word(int rank, std::size_t which) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(part(rank) + mailboxes_bytes())[which];
  }
  void pause(int polls) const;
  void check_for_ended() const;
  void describe(mpi::wait_record& to) const override;
  /// f(rank) for each rank that this one waits for.
  template <class F>
  void for_each_missing(F f) const;

  void set_polls(std::span<const node_member> all) noexcept;

  arena_parts parts_;
  mpi::call_record* calls_ = nullptr;
  std::size_t payload_bytes_ = 0;
  std::size_t head_ = 0;  // of a part: its mailboxes
  std::uint64_t step_ = 0;
  std::byte* written_ = nullptr;  // this rank's mailboxes of this step
  std::size_t read_at_ = 0;       // in each rank's part, the mailbox of this step for this one
  int rank_ = 0;
  int size_ = 0;
  int polls_ = 0;  // before a waiting rank yields its core
  bool single_copies_ = false;
};

}  // namespace taquin::detail
