// Notices that go straight to their destinations. The algorithms differ in how a rank finds that it has all.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "base/arrays.hpp"
#include "base/raw_buffer.hpp"
#include "mpi/request_set.hpp"

namespace taquin::detail {

class direct_notices {
 public:
  explicit direct_notices(finding& f);
  static std::size_t footprint(std::size_t in_flight, std::size_t message_bytes) noexcept;

  /// The costs of a send and a receive, in nanoseconds.
  static std::uint64_t nanoseconds(const sparse_shape& s) noexcept;
  /// No rank has more sources than messages may wait at it.
  static int most_ranks(const sparse_shape& s) noexcept {
    return static_cast<int>(std::min<std::size_t>(s.in_flight, INT_MAX - 1)) + 1;
  }

  /// Sends as far as possible: at most `in_flight` messages of this rank are in flight, one to each receiver, until it
  /// has received it. Consecutive blocks for one rank share messages. True: it has sent or completed something.
  bool send();
  /// Receives a message that has arrived, if there is one.
  bool take();
  /// All are sent, and received.
  [[nodiscard]] bool sent() const noexcept { return f_.mine.over() && requests_.in_flight() == 0; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

  /// f(rank) for each message that the blocks of `mine` make.
  template <class Each>
  static void each_message(own_notices mine, int rank, std::size_t message_bytes, Each f) {
    while (!mine.over()) {
      const int to = mine.head().to;
      if (fill(mine, {}, message_bytes) > 0 && to != rank) f(to);
    }
  }

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t messages, std::size_t message_bytes) {
    each(&direct_notices::buffers_, (messages + 1) * message_bytes);
    each(&direct_notices::receivers_, messages);
    each(&direct_notices::requests_, messages);
  }
  // The next blocks that share a message; their bytes. Without a buffer they are skipped.
  static std::size_t fill(own_notices& mine, std::span<std::byte> to, std::size_t message_bytes);
  [[nodiscard]] bool waits_for(int receiver) const noexcept;
  void unpack(std::span<const std::byte> message);

  finding& f_;
  std::size_t taken_ = 0;
  raw_buffer buffers_;  // of outgoing messages, and of the incoming one
  std::pmr::vector<int> receivers_;
  mpi::request_set requests_;  // last: ended first
};

}  // namespace taquin::detail
