// What one rank saw of the program's traffic, and the traffic that the logs of all ranks amount to. No MPI in here.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/traffic.hpp"

namespace taquin::interpose {

/// A communicator's name, the same on all its ranks: the world rank of its rank 0 and that rank's own count.
struct comm_id {
  int leader = 0;
  int serial = 0;
  auto operator<=>(const comm_id&) const = default;
};

struct known_comm {
  comm_id id;
  int rank = 0;                  ///< of the rank whose log this is
  std::vector<int> world_ranks;  ///< of all its ranks
};

/// What makes two calls of a rank equal.
struct signature {
  std::uint32_t comm = 0;  ///< index into rank_log::comms
  std::uint32_t row = 0;   ///< index into rank_log::rows
  workloads::call_kind kind = workloads::call_kind::alltoallv;
  bool in_place = false;
  count_t element_bytes = 0;  ///< 0: this rank sends nothing that would tell
  bool operator==(const signature&) const = default;
};

/// Equal calls in a row.
struct run_of_calls {
  signature what;
  std::uint64_t repeats = 0;
  double total = 0;  ///< seconds
  double min = 0;
  double max = 0;
};

struct rank_log {
  std::string program;
  std::vector<known_comm> comms;
  std::vector<std::vector<count_t>> rows;  ///< bytes to each rank; equal ones are stored once
  std::vector<run_of_calls> runs;

  /// As bytes and back.
  [[nodiscard]] std::vector<std::uint8_t> packed() const;
  static rank_log unpacked(const std::vector<std::uint8_t>& bytes);
};

/// Appends calls to a log.
class log_writer {
 public:
  std::uint32_t add_comm(known_comm comm);
  void add_call(std::uint32_t comm, workloads::call_kind kind, bool in_place, count_t element_bytes,
                const std::vector<count_t>& row, double seconds);
  [[nodiscard]] rank_log& log() noexcept { return log_; }

 private:
  struct hash {
    std::size_t operator()(const std::vector<count_t>& row) const noexcept;
  };
  rank_log log_;
  std::unordered_map<std::vector<count_t>, std::uint32_t, hash> row_ids_;
};

/// The logs of all ranks, by world rank, as one. Calls that not all of their communicator's ranks logged are left out.
workloads::traffic assemble(const std::vector<rank_log>& logs);

}  // namespace taquin::interpose
