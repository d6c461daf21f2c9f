// Neighbourhood collectives on one node: each edge of the graph has slots in memory that the ranks share, which only
// its two ranks write and wait for.
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
// Pages of slots are taken for the first bytes of each when the memory is made, which takes less time so, and for the
// others by the first block that has more. Where there are none left, contents are sent as above.
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
#include <span>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/watch.hpp"
#include "node/call_watch.hpp"
#include "node/mapping.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class neighbourhood {
 public:
  /// For the ranks of `comm`, each with its sources and destinations, MPI_PROC_NULL where there is none. Collective:
  /// some small collectives. Null on all ranks where they are on several nodes, share no memory, or a rank is twice a
  /// neighbour of another: two ranks then do not identify an edge.
  static std::shared_ptr<neighbourhood> make(MPI_Comm comm, std::span<const int> sources,
                                             std::span<const int> destinations);
  /// What the ranks need where each is a neighbour of each, itself included, with `notes` bytes of each rank for the
  /// caller: in all.
  [[nodiscard]] static std::size_t bytes_among_all(int ranks, std::size_t notes) noexcept;
  /// For that, in memory of that size, all zero, which all ranks map. Local. Messages go by `messages`, in which the
  /// ranks are `places`; `tag` and the next one are those of what comes to this rank, and of nothing else there.
  static std::shared_ptr<neighbourhood> among_all(mpi::communicator::lease messages, mapping memory, int rank,
                                                  std::span<const int> places, int tag, std::size_t notes);
  /// To be called once all ranks have made theirs, before the first exchange. Local.
  void all_have_come() noexcept;
  [[nodiscard]] std::byte* notes(int rank) const noexcept;
  ~neighbourhood();
  neighbourhood(const neighbourhood&) = delete;
  neighbourhood& operator=(const neighbourhood&) = delete;

  /// The longest block that passes through shared memory.
  [[nodiscard]] std::size_t most_in_slot() const noexcept { return most_in_slot_; }
  [[nodiscard]] std::size_t memory() const noexcept { return memory_.size() + mapping::header; }

 private:
  friend class neighbour_exchange;
  static constexpr std::size_t slots = 4;
  struct slot;
  struct edge_head;
  // An edge in shared memory: its head, then its slots. Null memory: no neighbour.
  struct edge {
    int peer = MPI_PROC_NULL;
    std::byte* memory = nullptr;
    std::array<std::uint64_t, slots> written{};  // its sender: the last call in each slot
    int at = MPI_PROC_NULL;                      // the peer, in the communicator of messages
    int tag = 0;                                 // of them; that of small ones is the next
    std::array<std::size_t, slots> taken{};      // its sender: bytes of contents whose pages are there
  };
  // Messages that have arrived for calls that this rank has not completed.
  struct arrivals {
    std::uint64_t messages = 0;
    std::map<std::uint64_t, std::vector<std::byte>> by_call;
  };

  neighbourhood() = default;
  static int agree(MPI_Comm comm, bool wanted, int destinations);
  bool map(std::span<const int> sources, std::span<const int> destinations, std::size_t widest);
  [[nodiscard]] static std::size_t most_in_slot(std::size_t widest) noexcept;
  [[nodiscard]] static std::size_t edge_bytes(std::size_t most_in_slot) noexcept;
  [[nodiscard]] static edge_head& head(const edge& e) noexcept;
  [[nodiscard]] static bool is_free(const edge& e, std::uint64_t call) noexcept;
  [[nodiscard]] bool has_room(edge& e, std::uint64_t call, std::size_t bytes) const noexcept;
  [[nodiscard]] bool take_first_pages();
  [[nodiscard]] slot& slot_of(const edge& e, std::uint64_t call) const noexcept;
  void send_around(const edge& e, std::span<const std::byte> contents);
  void receive_around(std::size_t source);

  mapping memory_;
  std::size_t part_ = 0;  // bytes of each rank
  mpi::communicator::lease comm_;
  mpi::plan_tags tags_;
  int tag_ = 0;
  patience timeout_ = patience::of({});
  std::size_t most_in_slot_ = 0;
  std::vector<edge> in_, out_;
  std::vector<arrivals> arrived_;  // by source
  std::vector<std::byte> packed_;  // the contents of a slot that is not free
  // Small messages in flight, with their contents.
  std::vector<std::pair<MPI_Request, std::vector<std::byte>>> around_;
  std::uint64_t calls_ = 0;
};

/// One neighbourhood collective, which may be started again when it is complete. Several may be in flight, in any
/// order.
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
  /// at the end where a neighbour has sent more than is expected; the bytes that fit have been received. Any other
  /// error takes this rank out of the call, and the waits of the others end with peer_left, as in every call; so does
  /// TAQUIN_TIMEOUT.
  [[nodiscard]] bool test();
  void wait();

 private:
  template <class Work>
  auto in_call(Work work);
  void begin();
  void write(std::size_t destination);
  [[nodiscard]] bool take(std::size_t source);
  void deliver(std::size_t source, const std::byte* from, std::size_t bytes);
  void drop(std::size_t source, std::size_t bytes);
  [[nodiscard]] bool slots_have_come();
  [[nodiscard]] bool messages_complete(bool block);
  void end();
  void describe(mpi::wait_note& note) const override;

  std::shared_ptr<neighbourhood> n_;
  blocks send_{}, recv_{};
  std::uint64_t call_ = 0;
  std::uint64_t number_ = 0;            // of the call on the communicator
  std::vector<std::size_t> waits_for_;  // sources whose slots have not come
  std::vector<MPI_Request> messages_;   // of long blocks: receives by source, sends by destination
  std::size_t posted_ = 0;              // of them
  int too_long_from_ = MPI_PROC_NULL;
  count_t too_long_ = 0, room_ = 0;
};

}  // namespace taquin::detail
