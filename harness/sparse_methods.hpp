// Hand-written sparse exchanges on the MPI library: the baselines of taquin's. Nothing bounds their memory.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/sparse_moves.hpp"
#include "taquin/options.hpp"
#include "taquin/types.hpp"

namespace taquin::harness {

/// The data that a rank sends: consecutive blocks in `data`, in bytes.
struct sparse_sent {
  std::vector<int> destinations;
  std::vector<count_t> counts;
  std::vector<std::byte> data;
};

/// The received data, in any order of sources.
struct sparse_arrived {
  std::vector<int> sources;
  std::vector<count_t> counts;
  std::vector<std::byte> data;
  void clear() {
    sources.clear();
    counts.clear();
    data.clear();
  }
};

/// One way on one communicator, with the arrays that it keeps from call to call.
class hand_written_sparse {
 public:
  hand_written_sparse() = default;
  hand_written_sparse(const hand_written_sparse&) = delete;
  hand_written_sparse& operator=(const hand_written_sparse&) = delete;
  virtual ~hand_written_sparse() = default;
  /// Collective.
  virtual void run(const sparse_sent& sent, sparse_arrived& arrived) = 0;
};

struct sparse_method {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view rounds;
  std::unique_ptr<hand_written_sparse> (*make)(MPI_Comm comm);
  /// Extra bytes of a rank with so many blocks on either side.
  std::size_t (*memory)(int ranks, std::size_t blocks);
  /// The moves of its ranks, to predict its time.
  void (*moves)(const detail::sparse_pattern& x, detail::sparse_moves& to);
};

/// All of them.
std::span<const sparse_method> sparse_methods() noexcept;
/// Null when there is none of this name.
const sparse_method* find_sparse_method(std::string_view name) noexcept;
/// The messages and bytes to other ranks in one call. Those of a collective of the MPI library are not known: it counts
/// as a round. Local.
statistics account(const sparse_method& method, const sparse_sent& sent, MPI_Comm comm);
/// Why hand-written ones, whose counts have 32 bits, cannot serve a rank that sends or receives so much.
std::optional<std::string> beyond_sparse_methods(count_t bytes);

}  // namespace taquin::harness
