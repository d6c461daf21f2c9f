// Neighbourhood collectives in which ranks wait for their neighbours alone: each edge of the graph between two ranks of
// a node has slots in memory that the ranks of the node share, which only its two ranks write and wait for. Blocks for
// ranks of other nodes are messages, whose receives are posted at the start.
//
// Calls are numbered, with the same numbers on all ranks, because each rank takes part in each. In call n the sender of
// an edge writes slot n mod 4: the number of bytes, the block where it fits, and last the call's number (release). Its
// receiver waits for the number (acquire), copies the block out, and acknowledges that number, which makes the slot
// free. A longer block follows as a message, whose receive was posted at the start.
//
// A start does not wait. Where a slot is not free, because its receiver has not completed call n - 4, its contents are
// sent as messages of at most 1 KiB, which MPI libraries send eagerly, and a counter beside the slots announces them to
// the receiver. So no rank waits for a rank that is outside MPI after its start, as MPI requires of nonblocking
// collectives.
//
// Pages of slots are allocated for the first bytes of each when the memory is made, which is faster, and for the others
// by the first block that has more. If there are none left, contents are sent as above.
//
// Rounds: 1. Bytes: each block twice through shared memory, or once as a message. Memory: below 512 KiB for each rank.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "mpi/progress.hpp"
#include "mpi/request_set.hpp"
#include "node/call_deadline.hpp"
#include "node/mapping.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// Checks a side of a rank: two ranks then identify an edge. MPI_PROC_NULL may be there more often. Allocates nothing.
[[nodiscard]] bool has_no_rank_twice(std::span<const int> ranks) noexcept;

class neighbourhood {
 public:
  /// A rank's neighbours, MPI_PROC_NULL where there is none. No rank is twice among the sources, or the destinations:
  /// two ranks would then not identify an edge.
  struct neighbours {
    std::vector<int> sources, destinations;
  };
  /// One of the ranks: its contribution.
  struct member {
    mpi::communicator::lease messages;
    int rank = 0;
    std::span<const int> places;  ///< of all ranks, in `messages`
    std::span<const int> tags;    ///< of all ranks: a rank's tag and the next one are those of its incoming messages,
                                  ///< and of no others there
    std::span<const int> here;    ///< the ranks that share the memory with this one, itself included, in order
    const neighbours& edges;
    std::size_t widest = 0;      ///< the most destinations here of a rank here
    std::size_t user_bytes = 0;  ///< bytes of each rank for the caller
    bool whole = false;          ///< all pages of this rank's part are taken now, not only the first of each slot
  };
  static constexpr int tags = 2;  ///< of each rank, consecutive
  /// Bytes of each rank's memory, at most, if so many share it.
  [[nodiscard]] static std::size_t most_bytes(int ranks, std::size_t user_bytes) noexcept;
  /// In memory of that size for each rank here, all zero and taken in parts, which they all map. Local. Null where
  /// there are no pages.
  static std::shared_ptr<neighbourhood> make(member m, detail::mapping memory);
  /// To be called once all ranks have made theirs, before the first exchange. Local. False where a source here does not
  /// have this rank as a destination.
  [[nodiscard]] bool all_have_arrived() noexcept;
  /// Of the n-th rank here.
  [[nodiscard]] std::byte* user_area(int nth) const noexcept;
  neighbourhood(const neighbourhood&) = delete;
  neighbourhood& operator=(const neighbourhood&) = delete;

  /// The longest block that passes through shared memory.
  [[nodiscard]] std::size_t most_in_slot() const noexcept { return most_in_slot_; }
  /// Of all parts here.
  [[nodiscard]] std::size_t memory() const noexcept { return here_.size() * part_ + detail::mapping::header; }

 private:
  friend class neighbour_exchange;
  static constexpr std::size_t slots = 4;
  struct slot {
    std::atomic<std::uint64_t> call;
    std::uint64_t bytes;
    [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  };
  struct edge_head {
    alignas(detail::cache_line) std::atomic<std::uint64_t> around;                           // written by the sender
    alignas(detail::cache_line) std::array<std::atomic<std::uint64_t>, slots> acknowledged;  // written by the receiver
  };
  // An edge in shared memory: its head, then its slots. Null memory: the peer is on another node, or there is none.
  struct edge {
    int peer = MPI_PROC_NULL;
    std::byte* memory = nullptr;
    std::array<std::uint64_t, slots> written{};  // its sender: the last call in each slot
    int at = MPI_PROC_NULL;                      // the peer, in the communicator of messages
    int tag = 0;                                 // of them; that of small ones is the next
    std::array<std::size_t, slots> taken{};      // its sender: bytes of contents whose pages are there
    [[nodiscard]] bool is_elsewhere() const noexcept { return memory == nullptr && peer >= 0; }
  };
  // Messages that have arrived for calls that this rank has not completed.
  struct arrivals {
    std::uint64_t messages = 0;
    std::map<std::uint64_t, std::vector<std::byte>> by_call;
  };

  // Small messages in flight, with their contents. MPI libraries may need this rank for them: its waits progress them,
  // in any call.
  class eager_sends final : private mpi::started {
   public:
    eager_sends() = default;
    ~eager_sends() override;
    void send(std::span<const std::byte> contents, int to, int tag, MPI_Comm comm);

   private:
    bool advance() override;
    void await() override;

    std::vector<std::pair<MPI_Request, std::vector<std::byte>>> all_;
  };

  neighbourhood() = default;
  [[nodiscard]] static std::size_t bytes(std::size_t widest, std::size_t user_bytes) noexcept;
  [[nodiscard]] static std::size_t most_in_slot(std::size_t widest) noexcept;
  [[nodiscard]] static std::size_t edge_bytes(std::size_t most_in_slot) noexcept;
  [[nodiscard]] static edge_head& head(const edge& e) noexcept;
  [[nodiscard]] static bool is_free(const edge& e, std::uint64_t call) noexcept;
  [[nodiscard]] bool has_space(edge& e, std::uint64_t call, std::size_t bytes) const noexcept;
  [[nodiscard]] bool take_pages();
  // Of a part: its rank's failure record, its destinations here by their numbers here, -1 after the last, its edges.
  [[nodiscard]] std::byte* part_of(int nth) const noexcept { return memory_.data() + detail::as_size(nth) * part_; }
  [[nodiscard]] int* destinations_of(int nth) const noexcept;
  [[nodiscard]] std::byte* edge_of(int nth, std::size_t destination) const noexcept;
  [[nodiscard]] int number_here(int rank) const noexcept;
  [[nodiscard]] slot& slot_of(const edge& e, std::uint64_t call) const noexcept;
  void send_around(const edge& e, std::span<const std::byte> contents);
  void receive_around(std::size_t source);
  [[nodiscard]] std::optional<std::vector<std::byte>> take_arrived(std::size_t source, std::uint64_t call);

  detail::mapping memory_;
  std::size_t part_ = 0;        // bytes of each rank
  std::size_t user_bytes_ = 0;  // of them
  std::size_t widest_ = 0;
  std::vector<int> here_;
  int mine_ = 0;  // this rank's number here
  bool whole_ = false;
  mpi::communicator::lease comm_;
  int tag_ = 0;
  detail::call_timeout timeout_ = detail::call_timeout::of({});
  std::size_t most_in_slot_ = 0;
  std::vector<edge> in_, out_;
  std::mutex arriving_;            // several threads may complete calls
  std::vector<arrivals> arrived_;  // by source
  std::vector<std::byte> packed_;  // the contents of a slot that is not free
  eager_sends around_;
  std::uint64_t calls_ = 0;
};

/// One neighbourhood collective, which may be started again when it is complete. Several may be in flight, and are
/// completed in any order, by several threads too. One thread at a time starts or completes one, and starts any.
class neighbour_exchange final : private mpi::awaited {
 public:
  explicit neighbour_exchange(std::shared_ptr<neighbourhood> n);
  neighbour_exchange(const neighbour_exchange&) = delete;
  neighbour_exchange& operator=(const neighbour_exchange&) = delete;
  ~neighbour_exchange();

  /// Begins it. The k-th block of a side is for the k-th neighbour; buffers and arrays must live until it is complete.
  /// All ranks of the communicator start their calls in the same order. Does not wait.
  void start(const blocks& send, const blocks& recv);
  /// True when all blocks have been received and the send blocks may be written. Throws usage_error (MPI_ERR_TRUNCATE)
  /// at the end if a neighbour has sent more than is expected; the bytes that fit have been received. Any other error
  /// makes this rank abort the call, and the waits of the others end with peer_aborted, as in every call; so does
  /// TAQUIN_TIMEOUT.
  [[nodiscard]] bool test();
  void wait();

 private:
  template <class Work>
  auto in_call(Work work);
  void begin();
  void receive(std::size_t source);
  void send(std::size_t destination);
  void write(std::size_t destination);
  [[nodiscard]] bool take(std::size_t source);
  void deliver(std::size_t source, const std::byte* from, std::size_t bytes);
  void drop(std::size_t source, std::size_t bytes);
  void too_long(std::size_t source, count_t bytes) noexcept;
  [[nodiscard]] bool slots_have_arrived();
  [[nodiscard]] bool messages_complete(bool block);
  void end();
  void describe(mpi::wait_record& to) const override;

  std::shared_ptr<neighbourhood> n_;
  blocks send_{}, recv_{};
  std::uint64_t call_ = 0;
  std::uint64_t number_ = 0;                   // of the call on the communicator
  std::vector<std::size_t> waits_for_;         // sources whose slots have not arrived
  std::vector<MPI_Request> messages_;          // of long blocks: receives by source, sends by destination
  std::size_t posted_ = 0;                     // of them
  std::optional<mpi::truncation> truncation_;  // the first of the call
};

}  // namespace taquin::interpose
