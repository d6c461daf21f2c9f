// The log of one rank: the program's traffic as this rank has seen it; and how the logs of all ranks become one
// traffic. No MPI in here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/event.hpp"
#include "interpose/observe/traced_event.hpp"
#include "workloads/traffic.hpp"

namespace taquin::interpose {

/// A communicator's name, the same on all its ranks: the world rank of its rank 0 and that rank's own count.
struct comm_id {
  int leader = 0;
  int serial = 0;
  auto operator<=>(const comm_id&) const = default;  // NOLINT(modernize-use-nullptr): the check misreads it
};

struct known_comm {
  comm_id id;
  int rank = 0;                  ///< of the rank whose log this is
  std::vector<int> world_ranks;  ///< of all its ranks
};

/// The properties that make two calls of a rank equal.
struct signature {
  std::uint32_t comm = 0;  ///< index into rank_log::comms
  std::uint32_t row = 0;   ///< index into rank_log::rows
  workloads::call_kind kind = workloads::call_kind::alltoallv;
  bool in_place = false;
  workloads::call_form form = workloads::call_form::blocking;
  int in_flight = 0;          ///< calls started before and not complete
  count_t element_bytes = 0;  ///< 0: unknown, this rank sends nothing
  bool operator==(const signature&) const = default;
};

/// Consecutive equal calls.
struct run_of_calls {
  signature what;
  std::uint64_t repeats = 0;
  double total = 0;  ///< seconds
  double min = 0;
  double max = 0;
  double waiting = 0;       ///< until the last rank entered, added up
  std::uint64_t timed = 0;  ///< calls that `total`, `min` and `max` are of; the others are not complete

  void took(double seconds) noexcept;
};

/// A call whose last rank is not known yet.
struct entry {
  static constexpr std::uint32_t failed = 0xffffffff;  ///< the call has not ended well
  static constexpr std::uint32_t no_run = failed - 1;  ///< it has, and runs are not kept
  double begin = 0;
  std::uint32_t run = failed;    ///< index into rank_log::runs
  std::uint32_t site = 0;        ///< index into rank_log::sites
  std::uint32_t stands_for = 1;  ///< calls
  double seconds = 0;            ///< that the call took
};

/// The waits for one rank, added up. The squares distinguish a rank that is often late from one long wait.
struct waits_for_a_rank {
  double seconds = 0;
  double squares = 0;  ///< of the seconds of each call
};

/// A figure that was measured in some calls and holds for all of them: its value, with a 95% interval.
struct estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// How long this rank waited for the last rank to enter its calls, from those calls of which it is known. A sample
/// stands for as many calls as its weight; the share of waiting in the samples is that of all calls (a ratio
/// estimator).
struct wait_samples {
  std::uint64_t calls = 0;    ///< samples
  double waited = 0;          ///< seconds of waiting, by weight
  double lasted = 0;          ///< seconds of the calls, by weight
  double waited_squares = 0;  ///< by weight · (weight − 1): nothing is uncertain about calls that stand for themselves
  double products = 0;
  double lasted_squares = 0;

  /// The wait of a call cannot be longer than the call.
  void add(std::uint32_t weight, double wait, double seconds) noexcept;
  /// Of calls that took so many seconds altogether.
  [[nodiscard]] estimate of(double seconds) const noexcept;
};

/// The record of this rank of one call site on one communicator.
struct site_log {
  std::string object;        ///< the program's or library's file
  std::uint64_t offset = 0;  ///< of the return address inside it
  std::uint32_t comm = 0;
  workloads::call_kind kind = workloads::call_kind::alltoall;
  workloads::call_form form = workloads::call_form::blocking;
  std::uint64_t calls = 0;
  count_t bytes = 0;
  count_t received = 0;
  double seconds = 0;
  wait_samples waits;
  double arrival = 0;          ///< after the first rank, added up
  std::uint64_t arrivals = 0;  ///< calls that `arrival` is of
  std::size_t peak_memory = 0;
  std::uint64_t sampled = 0;  ///< calls that the MPI library did, to be measured
  double sampled_seconds = 0;
  double squares = 0;                          ///< of the seconds of each call, added up
  double sampled_squares = 0;                  ///< of those that were measured
  std::map<int, waits_for_a_rank> waited_for;  ///< by the communicator's rank that was last
  std::map<int, std::uint64_t> sizes;          ///< blocks by the power of two of their bytes; -1: empty
  std::map<std::string, std::uint64_t> algorithms;
  std::map<std::string, std::uint64_t> fallbacks;
  trial_times trial;           ///< the last that the MPI library has won
  std::vector<count_t> flows;  ///< bytes to each rank
};

/// The properties in the trace that equal calls share.
struct traced_call {
  std::uint32_t site = 0;  ///< index into rank_log::sites
  std::uint32_t row = 0;   ///< index into rank_log::rows
  std::string algorithm;
};

struct rank_log {
  std::string program;
  double seconds = 0;  ///< from MPI_Init to MPI_Finalize
  int node = 0;
  std::vector<site_log> sites;
  std::vector<std::vector<entry>> open;  ///< by communicator
  std::vector<std::uint64_t> others;     ///< calls that are only counted, by other_call
  std::vector<known_comm> comms;
  std::vector<std::vector<count_t>> rows;  ///< bytes to each rank; equal ones are stored once
  std::vector<run_of_calls> runs;          ///< for a recording
  std::vector<traced_call> traced;
  std::vector<traced_event> events;  ///< not packed
  std::uint64_t untraced = 0;        ///< events that the trace had no room for

  /// A call of a run has ended, where runs are kept.
  void took(std::uint32_t run, double call_seconds) noexcept {
    if (run < runs.size()) runs[run].took(call_seconds);
  }
  /// This rank entered a call `arrival` seconds after the first rank and `wait` seconds before the last one, `last`.
  void waited(const entry& e, double wait, double arrival, int last);
  /// As bytes and back.
  [[nodiscard]] std::vector<std::uint8_t> packed() const;
  static rank_log unpacked(const std::vector<std::uint8_t>& bytes);
};

/// The additions to a log other than its calls.
class log_writer {
 public:
  std::uint32_t add_comm(known_comm comm);
  /// The index of a row in the log.
  [[nodiscard]] std::uint32_t id_of(const std::vector<count_t>& row);
  [[nodiscard]] rank_log& log() noexcept { return log_; }

 private:
  rank_log log_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> row_ids_;  // by the rows' hashes: each row is kept once
};

/// MPI's name of a call, in small letters.
std::string name_of_call(workloads::call_kind kind, workloads::call_form form);

/// Separates waiting in the calls that are still open: all ranks' entries of each are here.
void close_entries(std::vector<rank_log>& logs);

/// The logs of all ranks, by world rank, as one. Calls that not all of their communicator's ranks logged are left out.
workloads::traffic assemble(const std::vector<rank_log>& logs);

}  // namespace taquin::interpose
