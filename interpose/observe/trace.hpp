// Keeps when calls, their rounds and their messages began and ended, for the trace that is written at the end. Takes a
// fixed amount of memory; when that is full, later events are only counted.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "interpose/observe/traced_event.hpp"
#include "schedule/activity.hpp"

namespace taquin::interpose {

struct call_event;
struct known_call;
struct rank_log;
struct recorder_state;

/// The least that an event takes in the file.
inline constexpr std::size_t bytes_of_a_traced_event = 64;

class trace final : public detail::activity {
 public:
  /// Keeps up to so many events. Local.
  void start(std::size_t most);
  [[nodiscard]] bool on() const noexcept { return events_ != nullptr; }

  /// Rounds and messages of this thread are of this call, or of none.
  void enter(const call_event& e) noexcept;
  static void leave() noexcept;
  /// A call that ends now, or one that continues: the argument of completes().
  std::uint32_t keep(recorder_state& s, const call_event& e, known_call& k, std::size_t memory, std::uint64_t end);

  std::uint32_t begins(std::size_t round) noexcept override;
  std::uint32_t posts(direction which, MPI_Comm comm, int peer, int tag, std::uint64_t bytes) noexcept override;
  void completes(std::uint32_t reported) noexcept override;
  /// To be called when a communicator is freed: its handle may be reused for another one.
  void forget_communicator() noexcept { last_comm_ = MPI_COMM_NULL; }

  /// Everything, in nanoseconds of rank 0's clock, into the log.
  void hand_over(recorder_state& s, rank_log& log);

 private:
  std::uint32_t add(const traced_event& e) noexcept;
  const std::vector<int>& world_ranks(MPI_Comm comm);

  std::size_t most_ = 0;
  std::unique_ptr<traced_event[]> events_;  // NOLINT(modernize-avoid-c-arrays): pages are touched when they are used
  std::atomic<std::size_t> wanted_{0};
  int keyval_ = MPI_KEYVAL_INVALID;
  MPI_Comm last_comm_ = MPI_COMM_NULL;
  const std::vector<int>* last_ranks_ = nullptr;
  std::deque<std::vector<int>> ranks_;  // of communicators that schedules have run on
};

}  // namespace taquin::interpose
