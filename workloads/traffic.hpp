// The exchanges of an application, as recorded by the preload library: the content of one traffic file, whose format
// docs/internals/file-formats.md describes. Needs no MPI.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::workloads {

/// A traffic file that cannot be read or written, with its path and the error.
class traffic_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class call_kind : std::uint8_t {
  alltoall,
  alltoallv,
  alltoallw,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  sparse  ///< taquin's own; persistent: in two steps, each time that data move
};
/// Whether a blocking call ends on no rank before all have entered it.
constexpr bool waits_for_all(call_kind kind) noexcept {
  return kind <= call_kind::alltoallw || kind == call_kind::sparse;
}
/// How it was called: MPI_Alltoallv, MPI_Ialltoallv, or MPI_Alltoallv_init and then started.
enum class call_form : std::uint8_t { blocking, nonblocking, persistent };

/// The MPI call's name without its prefix: "alltoall", "neighbor_alltoallv".
std::string_view name_of(call_kind kind);
std::string_view name_of(call_form form);

/// Bytes that each rank of a communicator sends to each, without the zeros.
class byte_matrix {
 public:
  struct flow {
    int from;
    int to;
    count_t bytes;
    bool operator==(const flow&) const = default;
  };

  byte_matrix() = default;
  /// `flows` ascending by (from, to), each pair once, bytes positive, ranks below `ranks`.
  byte_matrix(int ranks, std::vector<flow> flows);

  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] const std::vector<flow>& flows() const noexcept { return flows_; }
  /// Bytes from one rank to another. Logarithmic in the number of flows.
  [[nodiscard]] count_t at(int from, int to) const;
  /// The bytes that `rank` sends to each rank, and receives from each: `ranks()` numbers.
  [[nodiscard]] std::vector<count_t> sent_by(int rank) const;
  [[nodiscard]] std::vector<count_t> received_by(int rank) const;
  /// All bytes of one exchange, those from ranks to themselves included.
  [[nodiscard]] count_t total() const;
  /// Largest sum of one rank's sent bytes.
  [[nodiscard]] count_t most_sent() const;

  bool operator==(const byte_matrix&) const = default;

 private:
  int ranks_ = 0;
  std::vector<flow> flows_;
};

/// Seconds in one call: the slowest rank's, over the repetitions.
struct call_seconds {
  double min = 0;
  double mean = 0;
  double max = 0;
  double waiting = 0;  ///< mean of the longest that a rank waited for the last one to enter the call
  bool operator==(const call_seconds&) const = default;
};

/// One call, or several consecutive equal ones.
struct recorded_call {
  std::size_t communicator = 0;  ///< index into traffic::communicators
  std::size_t matrix = 0;        ///< index into traffic::matrices
  call_kind kind = call_kind::alltoallv;
  count_t element_bytes = 1;  ///< of one element; divides every block
  bool in_place = false;      ///< MPI_IN_PLACE was given
  call_form form = call_form::blocking;
  int in_flight = 0;  ///< nonblocking and persistent calls started before and not complete, of the rank with most
  std::uint64_t repeats = 1;
  call_seconds seconds{};
  bool operator==(const recorded_call&) const = default;
};

struct traffic {
  std::string program;                          ///< command, as far as it is known
  int ranks = 0;                                ///< of MPI_COMM_WORLD
  std::vector<std::vector<int>> communicators;  ///< the ranks in MPI_COMM_WORLD of each one's ranks
  std::vector<byte_matrix> matrices;
  std::vector<recorded_call> calls;  ///< in the program's order
  bool operator==(const traffic&) const = default;
};

/// Reads a whole file and checks all of it: the result is consistent, and uses memory in proportion to the file,
/// beside at most `most_uniform_pairs` flows of uniform matrices. Throws traffic_error.
traffic read_traffic(const std::filesystem::path& path);
inline constexpr std::size_t most_uniform_pairs = std::size_t{1} << 22;

/// The same for a file's content.
traffic parse_traffic(std::string_view text);

/// Writes a file, replacing an existing one. Throws traffic_error.
void write_traffic(const traffic& t, const std::filesystem::path& path);

/// The text of the file.
std::string traffic_text(const traffic& t);

}  // namespace taquin::workloads
