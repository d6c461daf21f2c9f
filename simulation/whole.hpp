// The moves of all ranks in an exchange whose counts are all known, round by round and without MPI, for drawings and
// comparisons of algorithms. No data are exchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"

namespace taquin::detail {

/// One rank's part, with contiguous blocks of bytes in both buffers.
class known_part {
 public:
  known_part(exchange::form kind, int rank, std::vector<count_t> sent, std::vector<count_t> received);
  known_part(const known_part&) = delete;
  known_part(known_part&&) = default;
  known_part& operator=(const known_part&) = delete;
  known_part& operator=(known_part&&) = delete;
  ~known_part() = default;
  /// A view of this object.
  [[nodiscard]] local_exchange local() const noexcept;

 private:
  struct side {
    std::vector<count_t> counts;
    std::vector<count_t> displs;
  };
  [[nodiscard]] blocks view(const side& s) const noexcept;
  exchange::form kind_;
  int rank_;
  side send_;
  side recv_;
  std::vector<element> elements_;
};

/// Bytes of the block that rank `from` sends to rank `to` in the exchange that is drawn.
struct origin {
  int from = 0;
  int to = 0;
  count_t bytes = 0;
};

/// The bytes that every rank sends to every other.
class whole_exchange {
 public:
  explicit whole_exchange(int ranks, exchange::form kind = exchange::form::alltoallv);
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] count_t& bytes(int from, int to) noexcept { return bytes_[index(from, to)]; }
  [[nodiscard]] count_t bytes(int from, int to) const noexcept { return bytes_[index(from, to)]; }
  /// Appends [offset, offset + bytes) of the block from i to j of `x` to the block from `from` to `to`.
  void add(int from, int to, const whole_exchange& x, int i, int j, count_t offset, count_t bytes);
  /// The origin of the bytes [offset, offset + bytes) of a block, where blocks are traced.
  [[nodiscard]] std::vector<origin> origins(int from, int to, count_t offset, count_t bytes) const;
  [[nodiscard]] known_part part(int rank) const;
  [[nodiscard]] count_t sent(int rank) const noexcept;
  [[nodiscard]] count_t received(int rank) const noexcept;

  const topology* nodes = nullptr;  ///< null: each rank is a node of its own
  bool traced = false;              ///< record the blocks that messages carry: for at most `most_traced` ranks

  static constexpr int most_traced = 64;

 private:
  [[nodiscard]] std::size_t index(int from, int to) const noexcept {
    return as_size(from) * as_size(ranks_) + as_size(to);
  }
  int ranks_;
  exchange::form kind_;
  std::vector<count_t> bytes_;
  std::vector<std::vector<origin>> origins_;  // of blocks that are made of parts of others
};

/// Thrown for an exchange with too many messages to draw.
class too_many_messages : public std::length_error {
  using std::length_error::length_error;
};

/// Rounds of all ranks. A rank may be in the next round while another is still in this one: a round is the k-th of
/// each, including rounds that are empty on some ranks. A message is in the round in which both its ranks have arrived
/// at it.
class whole_moves {
 public:
  static constexpr std::size_t most_messages = 200000;
  using block_list = std::vector<std::pair<int, int>>;  ///< blocks, as their two ranks

  struct message {
    int from = 0;
    int to = 0;
    count_t bytes = 0;
    block_list blocks = {};  ///< the blocks in it, where that is traced
  };
  struct copied {
    int rank = 0;
    count_t bytes = 0;
    place from = place::send;
    place to = place::recv;
  };
  struct kept {
    int rank = 0;
    count_t bytes = 0;
  };
  struct round {
    std::vector<message> messages;
    std::vector<copied> copies;
    std::vector<kept> scratch;  ///< blocks that are read in a later round
  };

  [[nodiscard]] round& at(std::size_t i);
  /// Throws too_many_messages.
  void send(std::size_t where, message m);
  void copy(std::size_t where, const copied& c);
  void keep(std::size_t where, const kept& k);
  /// Removes rounds in which no rank does anything.
  void drop_empty_rounds();

  std::vector<round> rounds;
  std::size_t most = most_messages;  ///< before there are too many
  std::size_t scratch_bytes = 0;     ///< the most of any rank's schedule
  bool through_memory = false;       ///< blocks pass through memory that the ranks share, without messages
  std::string drawn_as;              ///< the use that is drawn, where uses differ
  std::string note;                  ///< the unknown or assumed facts

 private:
  std::size_t messages_ = 0;
};

/// Where the moves of an exchange among some of the ranks go: members[i] is its rank i.
struct moves_target {
  whole_moves& all;
  std::span<const int> members;
  std::size_t first = 0;  ///< its first round
};

/// Adds the moves of `a`, and returns one past its last round. `s` is the shape that its ranks have agreed on.
std::size_t add_moves(const algorithm& a, const whole_exchange& x, const shape& s, const options& o,
                      const moves_target& to);
/// Adds the schedules of all ranks, which exchange `x`.
std::size_t add_schedules(const whole_exchange& x, const std::vector<schedule>& all, const moves_target& to);

}  // namespace taquin::detail
