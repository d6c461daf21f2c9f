// Agreement: one reduction, before any data are sent, of what ranks need to decide alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>

#include "base/raw_buffer.hpp"
#include "exchange/facts.hpp"
#include "exchange/shape.hpp"
#include "exchange/validate.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "node/channel.hpp"
#include "node/internode.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// What one rank brings: what is wrong with its arguments, if anything; its figures; and its choices, which must be the
/// same on all ranks.
struct proposal : rank_facts {
  std::optional<invalid_argument> invalid;
  std::uint64_t facts = 0;     ///< which call it is, as in mpi::whereabouts
  std::uint64_t number = 0;    ///< its number on the communicator
  std::string_view algorithm;  ///< as it was asked for
  bool in_place = false;       ///< the record then has the part that only such exchanges need
};

/// What all ranks know afterwards.
struct agreed : rank_facts {
  bool uniform = true;
};

/// Small data that the agreement's messages carry. An exchange in log rounds then costs no more than the agreement
/// alone. The messages are those of a Bruck exchange: in round k, for each digit j of 1 … radix−1 with j·radix^k < p,
/// rank u sends one message to u + j·radix^k and receives one from u − j·radix^k (mod p).
class piggyback {
 public:
  piggyback() = default;
  piggyback(const piggyback&) = delete;
  piggyback& operator=(const piggyback&) = delete;
  virtual ~piggyback() = default;
  /// The most bytes that any message of any rank carries. The same on all ranks.
  [[nodiscard]] virtual std::size_t capacity() const noexcept = 0;
  /// The most bytes that this rank's messages of a round carry together.
  [[nodiscard]] virtual std::size_t outgoing() const noexcept = 0;
  /// They carry all blocks of this rank to theirs, and none of another.
  [[nodiscard]] virtual bool whole() const noexcept = 0;
  /// Writes what the message of round `round` and digit `digit` carries; returns its bytes.
  virtual std::size_t load(int round, int digit, std::span<std::byte> to) = 0;
  /// Where the next message lands: agreement_head() bytes of the agreement's own, then at most capacity().
  virtual std::byte* receive_slot() noexcept = 0;
  /// Takes the payload of such a message; `from` is the payload, behind the agreement's own bytes.
  virtual void unload(int round, int digit, std::span<const std::byte> from) = 0;
};

/// What the agreement itself puts before each message's payload.
constexpr std::size_t agreement_head(bool in_place) noexcept {
  return in_place ? sizeof(fact_record) : fact_record::head;
}

/// For a rank that has nothing valid to send, while other ranks have a payload: carries nothing.
class empty_piggyback final : public piggyback {
 public:
  empty_piggyback(std::size_t capacity, std::pmr::memory_resource* memory)
      : capacity_(capacity), receive_slot_(agreement_head(true) + capacity, memory) {}
  [[nodiscard]] std::size_t capacity() const noexcept override { return capacity_; }
  [[nodiscard]] std::size_t outgoing() const noexcept override { return 0; }
  [[nodiscard]] bool whole() const noexcept override { return false; }
  std::size_t load(int, int, std::span<std::byte>) override { return 0; }
  std::byte* receive_slot() noexcept override { return receive_slot_.data(); }
  void unload(int, int, std::span<const std::byte>) override {}

 private:
  std::size_t capacity_;
  raw_buffer receive_slot_;
};

/// The radix of the agreement's rounds: among up to four ranks one round suffices; otherwise the least power of two
/// with which two do, at most 8. With more ranks than cores, measurements show that fewer rounds are faster than fewer
/// messages, until a round has many messages. A power of two makes each rank talk to few others in a round where p is
/// one as well.
int agreement_radix(int ranks) noexcept;
/// Bytes that agree() takes with a payload whose messages of a round have so many bytes; without one it takes none.
std::size_t agreement_bytes(int ranks, std::size_t outgoing) noexcept;

/// A rank's blocks for the others, which a step among nodes carries.
class carried_blocks {
 public:
  carried_blocks() = default;
  carried_blocks(const carried_blocks&) = delete;
  carried_blocks& operator=(const carried_blocks&) = delete;
  virtual ~carried_blocks() = default;
  /// Writes them for all ranks, in the step's order.
  virtual void write(internode& step) = 0;
};

/// An exchange by direct messages that begins before ranks have agreed on it.
class early_start {
 public:
  early_start() = default;
  early_start(const early_start&) = delete;
  early_start& operator=(const early_start&) = delete;
  virtual ~early_start() = default;
  /// The longest message of an exchange that begins early. A rank that does not take part in that exchange must receive
  /// such a message all the same, in memory that no budget counts.
  static constexpr count_t most_bytes = count_t{128} << 10U;
  /// Sends.
  virtual void begin() = 0;
  /// Bytes of the message that is on its way to the peer; 0: there is none.
  [[nodiscard]] virtual count_t sent(int peer) const = 0;
};

/// The most bytes that a call takes outside its budget, whatever the number of ranks: one such message, or a payload on
/// a rank whose budget is too small for it; and copies of arguments for collectives of the MPI library.
constexpr std::size_t uncounted_bytes =
    static_cast<std::size_t>(early_start::most_bytes) + mpi::collectives::pieces * mpi::collectives::most_at_once;
static_assert(uncounted_bytes <= std::size_t{224} << 10U);

/// How ranks agree. Where all are on one node: through its memory. Otherwise in a step among nodes, whose messages also
/// carry blocks if all ranks have some to carry; or by messages between all ranks, with a payload.
struct agreement_way {
  channel* node = nullptr;
  internode* between = nullptr;
  carried_blocks* blocks = nullptr;  ///< with `between`
  early_start* early = nullptr;      ///< between nodes, without payload; its messages have the tag `early_tag`
  int early_tag = 0;
  piggyback* payload = nullptr;  ///< with neither `node` nor `between`
};

/// The way of a communicator whose blocking calls have the channel `node`, or null. Collective when asked for the first
/// time.
inline agreement_way way_of(mpi::communicator& comm, channel* node) {
  return {.node = node, .between = node == nullptr ? internode::of(comm) : nullptr};
}

/// One reduction to all: a step of `way`, or dissemination in ⌈log_r p⌉ rounds on tag `tag`. Collective. Throws
/// usage_error on every rank when any rank brings an invalid argument (its text and rank are then broadcast) or when
/// the choices differ. What `payload` carried is complete only when this returns. Where not all ranks have begun early,
/// or this throws, the messages of those that have are received here and dropped, so that their sends complete.
agreed agree(mpi::communicator& comm, int tag, const proposal& mine, const agreement_way& way,
             std::pmr::memory_resource* memory);

/// Waits until all ranks of the channel are here. A rank that began its step with the blocks of an exchange
/// (plan/on_node.cpp) sees that others did not, and comes too. Collective.
void meet_on_node(channel& node);

/// An invalid argument as one rank tells it to the others.
struct invalid_argument_record {
  std::array<char, 448> text{};
  std::int32_t mpi_class = MPI_ERR_ARG;
  std::int32_t peer = -1;
};
invalid_argument_record tell(const std::optional<invalid_argument>& invalid) noexcept;
/// Stands for a rank's number where all ranks have the same invalid argument.
inline constexpr int all_ranks = -1;
/// Throws the usage_error of what `rank` has told.
[[noreturn]] void refuse(int rank, const invalid_argument_record& told);

/// Throws the same usage_error on every rank where any has `invalid`. Collective; one reduction, and a broadcast when
/// something is wrong.
void agree_on_invalid_argument(mpi::communicator& comm, const std::optional<invalid_argument>& invalid);

/// After an agreement whose ranks send other sizes than their peers expect: throws usage_error on every rank, naming
/// the two ranks and both sizes. Collective, in p − 1 messages of each rank, with the agreement's tag.
[[noreturn]] void refuse_mismatch(mpi::communicator& comm, int tag, const exchange& x);

}  // namespace taquin::detail
