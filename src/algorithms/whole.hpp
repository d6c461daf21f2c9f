// What all ranks do in an exchange whose counts are all known, round by round and without MPI: for drawings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"

namespace taquin::detail {

/// One rank's part, with blocks of bytes in a row in both buffers.
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

/// The bytes that every rank sends to every other.
class whole_exchange {
 public:
  explicit whole_exchange(int ranks, exchange::form kind = exchange::form::alltoallv);
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] count_t& bytes(int from, int to) noexcept { return bytes_[index(from, to)]; }
  [[nodiscard]] count_t bytes(int from, int to) const noexcept { return bytes_[index(from, to)]; }
  [[nodiscard]] known_part part(int rank) const;
  [[nodiscard]] count_t sent(int rank) const noexcept;
  [[nodiscard]] count_t received(int rank) const noexcept;

  const topology* nodes = nullptr;  ///< null: each rank is a node of its own

 private:
  [[nodiscard]] std::size_t index(int from, int to) const noexcept {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(to);
  }
  int ranks_;
  exchange::form kind_;
  std::vector<count_t> bytes_;
};

/// More messages than anybody looks at.
class too_many_messages : public std::length_error {
  using std::length_error::length_error;
};

/// Rounds of all ranks. A rank may be in the next round while another is still in this one: a round is the k-th of each.
class whole_moves {
 public:
  static constexpr std::size_t most_messages = 200000;
  static constexpr std::uint32_t of_no_schedule = ~std::uint32_t{0};

  struct message {
    int from = 0;
    int to = 0;
    count_t bytes = 0;
    std::uint32_t index = of_no_schedule;  ///< among the messages of the sender's schedule
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
    std::vector<kept> scratch;  ///< what is read later, after the round
  };

  [[nodiscard]] round& at(std::size_t i);
  /// Throws too_many_messages.
  void send(std::size_t where, const message& m);
  void copy(std::size_t where, const copied& c);
  void keep(std::size_t where, const kept& k);
  /// Adds the schedule of rank `rank`, who calls members[i] rank i, beginning with round `first`. Returns one past its
  /// last round.
  std::size_t add(const schedule& s, int rank, std::span<const int> members, std::size_t first);

  std::vector<round> rounds;
  std::size_t scratch_bytes = 0;  ///< the most of any rank's schedule
  bool through_memory = false;    ///< what is sent goes through memory that the ranks share, without messages
  std::string note;               ///< what cannot be told, or is taken for granted

 private:
  std::size_t messages_ = 0;
};

/// Where the moves of an exchange among some of the ranks go: members[i] is its rank i.
struct moves_target {
  whole_moves& all;
  std::span<const int> members;
  std::size_t first = 0;  ///< its first round
};

/// Adds what `a` does, and returns one past its last round. `s` is the shape that its ranks know alike.
std::size_t add_moves(const algorithm& a, const whole_exchange& x, const shape& s, const options& o,
                      const moves_target& to);
/// Adds the schedules of all ranks.
std::size_t add_schedules(const std::vector<schedule>& all, const moves_target& to);

}  // namespace taquin::detail
