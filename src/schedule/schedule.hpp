// A plan as data: rounds of messages and local copies on named buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/arrays.hpp"
#include "exchange/shape.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// The buffers that a schedule works on.
enum class place : std::uint8_t {
  send,
  recv,
  scratch,  ///< the rank's own
  shared    ///< one for all ranks of a node, which see each other's writes after they have waited for each other
};

/// `repeat` runs of `count` elements each, the first at `offset` bytes from the buffer's base, each further run
/// `stride` bytes after the one before.
struct region {
  count_t offset = 0;
  count_t count = 0;
  count_t stride = 0;
  std::uint32_t repeat = 1;
  std::uint32_t type = 0;  ///< index into schedule::types
  place where = place::send;
};

/// How several regions are sent as one message.
enum class packing : std::uint8_t {
  datatype,    ///< as one derived datatype, of the simplest constructor: the MPI library gathers and scatters
  structured,  ///< the same, as a struct of the regions one by one
  packed       ///< through a contiguous staging buffer: taquin gathers, when the message is posted, and scatters, once
               ///< all messages of the round are posted and this one is complete
};

enum class message_direction : std::uint8_t { send, recv };

/// One message: regions `first_region` to `first_region + regions − 1`, to or from `peer`.
struct message {
  int peer = 0;
  std::uint32_t first_region = 0;
  std::uint32_t regions = 0;
  message_direction direction = message_direction::send;
  packing how = packing::datatype;
  std::uint8_t lane = 0;  ///< of the round's lanes
  std::uint8_t tag = 0;   ///< of the plan's tags: the same at both ends, whose lanes may differ
  bool waits = false;     ///< posted when all earlier messages of its lane are complete
  bool one_way = false;   ///< to a peer from which nothing is received in this exchange
};

/// The effect of a copy on its target.
enum class merge : std::uint8_t {
  replace,  ///< to = from
  combine   ///< to = from ⊗ to, with the operator that the schedule is run with; both regions of one type
};

/// A copy inside the rank: as many bytes from one region as the other takes.
struct copy {
  region from;
  region to;
  merge how = merge::replace;
};

/// A round posts its messages in order, does its copies in order while they travel, and ends when all are complete. Its
/// copies must not touch what its messages write, nor write what they read. With packed messages that write what others
/// read, all must be in flight together.
/// A round may have lanes: its messages then stand lane by lane, and lanes go on independently of each other, each by
/// stages: messages up to the next one that waits. Those of lane k have the plan's tag + k, or one that is given.
/// Ranks of a node that share memory wait for each other by counting: the end of some rounds is an arrival, and a round
/// may wait until all ranks of the node have arrived often enough.
struct round {
  std::uint32_t messages_end = 0;  ///< one past its last message; its first is the end of the round before
  std::uint32_t copies_end = 0;
  std::uint32_t in_flight = 0;  ///< most messages pending concurrently, later ones follow as earlier complete; 0: all
  std::uint32_t lanes = 0;      ///< 0: none
  std::int32_t awaits = -1;     ///< begins when each rank of the node has arrived so often in this exchange; 0: has
                                ///< ended the exchange before; −1: immediately
  bool arrives = false;         ///< its end is an arrival
  bool joins = false;           ///< ends when its messages are posted: they complete with those of the next round
  std::uint32_t step = 0;       ///< its number if dropped rounds, which other ranks may have, are counted
};

/// Parts `first` to `end` − 1.
struct index_range {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// How many of each part a schedule will have, so that memory is taken once and can be stated before.
struct schedule_size {
  std::size_t types = 0;
  std::size_t regions = 0;
  std::size_t messages = 0;
  std::size_t copies = 0;
  std::size_t rounds = 0;
  std::size_t lanes = 0;  ///< most in any round
  /// Bytes that a schedule of this size takes, scratch not included.
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// The rounds of one rank.
class schedule {
 public:
  /// Takes the memory for `size` parts from `memory`; parts beyond that take more.
  explicit schedule(std::pmr::memory_resource* memory, const schedule_size& size = {});

  /// Adds the datatypes of both sides of `x`, so that send_block and recv_block can be used.
  void add_types(const local_exchange& x);
  /// Adds one more datatype and returns its index.
  std::uint32_t add_type(const element& e);

  /// The block that `x` sends to `peer` / receives from `peer`, as a region.
  [[nodiscard]] region send_block(const local_exchange& x, int peer) const;
  [[nodiscard]] region recv_block(const local_exchange& x, int peer) const;

  /// Adds to the round that is being built. Messages and copies without bytes are left out, by sender and receiver
  /// consistently because both know the size.
  void send(int peer, const region& r) { add(peer, message_direction::send, packing::datatype, &r, 1); }
  void recv(int peer, const region& r) { add(peer, message_direction::recv, packing::datatype, &r, 1); }
  void send(int peer, const region* first, std::size_t n, packing how) {
    add(peer, message_direction::send, how, first, n);
  }
  void recv(int peer, const region* first, std::size_t n, packing how) {
    add(peer, message_direction::recv, how, first, n);
  }
  void add_copy(const region& from, const region& to, merge how = merge::replace);
  /// Closes the round; a round without messages and copies is dropped.
  void end_round(std::uint32_t in_flight = 0);
  /// The round that is being built begins when each rank of the node has arrived so often in this exchange.
  void await(int times) noexcept { awaits_ = times; }
  /// The messages of the round that is being built complete with those of the next one, which has no lanes.
  void join() noexcept { joins_ = true; }
  /// Closes the round, which may be empty; its end is an arrival. All ranks of a node arrive equally often.
  void arrive();
  /// The messages that follow belong to this lane of the round. Lanes are started in order; end_lanes closes the round.
  void begin_lane(int lane);
  /// The messages that follow in this lane have the plan's tag + `tag`, as their peers' have.
  void use_tag(int tag) noexcept { tag_ = static_cast<std::uint8_t>(tag); }
  /// The lane's next message waits for its earlier ones.
  void then() noexcept { waits_ = true; }
  void end_lanes(int lanes);

  /// The messages and the copies of a round.
  [[nodiscard]] index_range messages_of(std::size_t round) const noexcept {
    return {round == 0 ? 0 : rounds[round - 1].messages_end, rounds[round].messages_end};
  }
  [[nodiscard]] index_range copies_of(std::size_t round) const noexcept {
    return {round == 0 ? 0 : rounds[round - 1].copies_end, rounds[round].copies_end};
  }

  /// Marks the messages to peers from which nothing is received.
  void mark_one_way() noexcept;

  /// Data bytes of a region, of a message.
  [[nodiscard]] count_t bytes(const region& r) const noexcept;
  [[nodiscard]] count_t bytes(const message& m) const noexcept;

  std::pmr::vector<element> types;
  std::pmr::vector<region> regions;
  std::pmr::vector<message> messages;
  std::pmr::vector<copy> copies;
  std::pmr::vector<round> rounds;
  std::size_t scratch_bytes = 0;  ///< size of the buffer place::scratch
  std::size_t shared_bytes = 0;   ///< size of place::shared; the same on all ranks of a node
  int arrivals = 0;               ///< in one exchange
  bool ahead = false;             ///< all its receives may be posted before anything else: only they write there
  /// A rank's result depends on messages, direct or forwarded, from all: no rank ends an exchange before all have
  /// entered it. All ranks have equally many messages.
  bool synchronizes = false;

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const schedule_size& s) {
    each(&schedule::types, at_most{s.types});
    each(&schedule::regions, at_most{s.regions});
    each(&schedule::messages, at_most{s.messages});
    each(&schedule::copies, at_most{s.copies});
    each(&schedule::rounds, at_most{s.rounds});
  }
  void add(int peer, message_direction direction, packing how, const region* first, std::size_t n);
  std::uint8_t lane_ = 0;  // that is being built
  std::uint8_t tag_ = 0;   // of its messages
  bool waits_ = false;
  std::int32_t awaits_ = -1;
  bool joins_ = false;
  std::uint32_t steps_ = 0;       // rounds closed, dropped ones too
  std::uint32_t recv_types_ = 0;  // index of the receive side's first type
};

}  // namespace taquin::detail
