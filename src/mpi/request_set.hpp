// Pending requests and their owners. One policy for all of taquin:
//
// - Statuses are checked. A message that is longer than its buffer is MPI_ERR_TRUNCATE, with the peer and both sizes.
// - After its owner is destroyed nothing writes into its memory: receives are cancelled, or waited for where their data
//   are already arriving; sends are completed, or freed if they are never received. The MPI library still reads what
//   those send: the owner of that memory, of whatever kind, keeps it (base/outliving.hpp).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include "base/outliving.hpp"
#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/deadline.hpp"
#include "taquin/types.hpp"

namespace taquin::mpi {

/// How a pending request uses memory, and who frees it: the owner frees persistent ones.
enum class request_kind : std::uint8_t { send, receive, persistent_send, persistent_receive };

/// Ends one request, as above. True if it is a send that is not complete: the owner of the memory that it reads must
/// outlive it. Does not throw.
bool abandon(MPI_Request& request, request_kind what) noexcept;

/// Stops waiting for this send: the MPI library completes it by itself.
void hand_to_library(MPI_Request& request) noexcept;

/// A message that is longer than its buffer.
struct truncation {
  int sender = -1;
  count_t sent = 0;  ///< not more than `capacity` where it is not known
  count_t capacity = 0;
};

/// Throws usage_error on the rank that received too much, like a call that has completed all its rounds.
[[noreturn]] void refuse_truncation(const truncation& t, int rank);

/// The error of a message that is longer than its buffer: "rank 3 sends 28 bytes where 16 are expected".
[[noreturn]] void fail_truncated(const MPI_Status& status, count_t capacity, const char* call);

/// Requests by number, which their owner chooses.
class request_set {
 public:
  using kind = request_kind;

  request_set(std::size_t size, std::pmr::memory_resource* memory)
      : requests_(size, MPI_REQUEST_NULL, memory), kinds_(size, kind::send, memory) {}
  request_set(const request_set&) = delete;
  request_set& operator=(const request_set&) = delete;
  ~request_set() { abandon(); }

  /// Bytes that a set of `size` takes from its memory.
  static constexpr std::size_t bytes(std::size_t size) noexcept { return size * (sizeof(MPI_Request) + sizeof(kind)); }

  /// From now on a message that is longer than its buffer counts as complete, and the first of them is kept. It is for
  /// an owner whose peers wait for its later messages: it continues to its end and reports the error then.
  void keep_truncations() noexcept { keeps_truncations_ = true; }
  /// Returns the one that was kept, once.
  std::optional<truncation> take_truncation() noexcept { return std::exchange(kept_, std::nullopt); }

  /// Sends read this memory as well, beside the memory of this set.
  void reads(detail::outliving& memory) noexcept { also_read_ = &memory; }

  /// Describes the awaited messages, for the report of a timeout.
  void describe_by(const awaited* what) noexcept { what_ = what; }

  void resize(std::size_t size) {
    requests_.resize(size, MPI_REQUEST_NULL);
    kinds_.resize(size, kind::send);
  }
  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
  [[nodiscard]] bool active(std::size_t i) const noexcept { return requests_[i] != MPI_REQUEST_NULL; }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  /// The first number without a request; size() when there is none.
  [[nodiscard]] std::size_t free_number() const noexcept {
    return detail::as_size(std::ranges::find(requests_, MPI_REQUEST_NULL) - requests_.begin());
  }

  void send(std::size_t i, const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    check(PMPI_Isend(data, count, type, to, tag, comm, &requests_[i]), "MPI_Isend");
    began(i, kind::send);
  }
  /// Complete when its receiver has posted the matching receive.
  void send_synchronously(std::size_t i, const void* data, int count, MPI_Datatype type, int to, int tag,
                          MPI_Comm comm) {
    check(PMPI_Issend(data, count, type, to, tag, comm, &requests_[i]), "MPI_Issend");
    began(i, kind::send);
  }
  void receive(std::size_t i, void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm) {
    check(PMPI_Irecv(data, count, type, from, tag, comm, &requests_[i]), "MPI_Irecv");
    began(i, kind::receive);
  }
  /// Starts a persistent request, which its owner frees, after this set is gone or abandoned.
  void start(std::size_t i, MPI_Request persistent, kind what) {
    requests_[i] = persistent;
    began(i, what);
    const int code = PMPI_Start(&requests_[i]);
    if (code == MPI_SUCCESS) return;
    ended(i);
    fail(code, "MPI_Start");
  }

  /// Completes what can be completed and calls done(number, status) for each; returns how many. `capacity(number)` is
  /// the size of a receive's buffer in bytes. Throws mpi_error if a message could not be received.
  template <class Done, class Capacity>
  std::size_t test_some(Done done, Capacity capacity) {
    return some(false, done, capacity);
  }
  /// The same, but waits until there is something to complete.
  template <class Done, class Capacity>
  std::size_t wait_some(Done done, Capacity capacity) {
    if (end_ <= window && !must_poll()) return some(true, done, capacity);
    backoff waiting(what_);
    for (;;) {
      if (const std::size_t n = some(false, done, capacity); n > 0 || in_flight_ == 0) return n;
      waiting.pause();
    }
  }
  /// Completes all, or, with `block` false, returns whether they are complete.
  template <class Capacity>
  bool complete_all(bool block, Capacity capacity) {
    if (block && must_poll()) {
      for (backoff waiting(what_); !complete_all(false, capacity);) waiting.pause();
      return true;
    }
    if (block) {
      for (std::size_t i = 0; i < end_; ++i)
        if (active(i)) wait_for(i, capacity);
    } else {
      for (std::size_t begin = 0; begin < end_; begin += window)
        if (!test_window(begin, capacity)) return false;
    }
    in_flight_ = end_ = 0;
    return true;
  }

  /// Ends pending requests, as above; sends read the memory that this set itself is taken from, and `reads`. Does not
  /// throw.
  void abandon() noexcept;

 private:
  // At most so many requests go into one MPI call, with their statuses on the stack.
  static constexpr std::size_t window = most_waited_for;

  struct completions {
    std::array<int, window> numbers;
    std::array<MPI_Status, window> statuses;
  };

  void began(std::size_t i, kind what) noexcept {
    kinds_[i] = what;
    end_ = std::max(end_, i + 1);
    ++in_flight_;
  }
  void ended(std::size_t i) noexcept {
    requests_[i] = MPI_REQUEST_NULL;
    --in_flight_;
    while (end_ > 0 && requests_[end_ - 1] == MPI_REQUEST_NULL) --end_;
  }
  [[nodiscard]] int window_size(std::size_t begin) const noexcept {
    return static_cast<int>(std::min(window, end_ - begin));
  }

  template <class Done, class Capacity>
  std::size_t some(bool block, Done& done, Capacity& capacity) {
    std::size_t total = 0;
    const std::size_t end = end_;
    completions c;
    for (std::size_t begin = 0; begin < end && begin < end_; begin += window) {
      int n = 0;
      const int code =
          block ? wait_some_inside(window_size(begin), &requests_[begin], &n, c.numbers.data(), c.statuses.data())
                : PMPI_Testsome(window_size(begin), &requests_[begin], &n, c.numbers.data(), c.statuses.data());
      if (n == MPI_UNDEFINED) n = 0;
      if (code != MPI_SUCCESS) [[unlikely]]
        check_for_failures(code, begin, n, c, capacity, block ? "MPI_Waitsome" : "MPI_Testsome");
      for (int k = 0; k < n; ++k) {
        const auto at = detail::as_size(k);
        c.numbers[at] += static_cast<int>(begin);
        ended(detail::as_size(c.numbers[at]));
      }
      for (int k = 0; k < n; ++k) {
        const auto at = detail::as_size(k);
        done(detail::as_size(c.numbers[at]), std::as_const(c.statuses[at]));
      }
      total += detail::as_size(n);
    }
    return total;
  }

  template <class Capacity>
  void wait_for(std::size_t i, Capacity& capacity) {
    MPI_Status status;
    const int code = wait_inside(requests_[i], &status);
    if (code != MPI_SUCCESS) [[unlikely]] {
      status.MPI_ERROR = code;
      failed(i, status, receives(i) ? capacity(i) : 0, "MPI_Wait");
    }
    requests_[i] = MPI_REQUEST_NULL;
  }

  template <class Capacity>
  bool test_window(std::size_t begin, Capacity& capacity) {
    int done = 1;
    completions c;
    const int n = window_size(begin);
    const int code = PMPI_Testall(n, &requests_[begin], &done, c.statuses.data());
    if (code != MPI_SUCCESS) [[unlikely]] {
      for (int k = 0; k < n; ++k) c.numbers[detail::as_size(k)] = k;
      if (check_for_failures(code, begin, n, c, capacity, "MPI_Testall")) return false;
      done = 1;
    }
    if (done == 0) return false;
    for (int k = 0; k < n; ++k) requests_[begin + detail::as_size(k)] = MPI_REQUEST_NULL;
    return true;
  }

  // Throws, or keeps the message that was too long; true when other requests are still pending.
  template <class Capacity>
  bool check_for_failures(int code, std::size_t begin, int n, const completions& c, Capacity& capacity,
                          const char* call) {
    if (class_of(code) != MPI_ERR_IN_STATUS) fail(code, call);
    bool pending = false;
    for (int k = 0; k < n; ++k) {
      const MPI_Status& status = c.statuses[detail::as_size(k)];
      const std::size_t i = begin + detail::as_size(c.numbers[detail::as_size(k)]);
      pending = pending || status.MPI_ERROR == MPI_ERR_PENDING;
      if (status.MPI_ERROR == MPI_SUCCESS || status.MPI_ERROR == MPI_ERR_PENDING) continue;
      failed(i, status, receives(i) ? capacity(i) : 0, call);
    }
    return pending;
  }

  [[nodiscard]] bool receives(std::size_t i) const noexcept {
    return kinds_[i] == kind::receive || kinds_[i] == kind::persistent_receive;
  }
  void failed(std::size_t i, const MPI_Status& status, count_t capacity, const char* call);

  std::pmr::vector<MPI_Request> requests_;
  std::pmr::vector<kind> kinds_;
  std::size_t end_ = 0;  // one past the last number in use
  std::size_t in_flight_ = 0;
  const awaited* what_ = nullptr;
  detail::outliving* also_read_ = nullptr;
  bool keeps_truncations_ = false;
  std::optional<truncation> kept_;
};
}  // namespace taquin::mpi
