// Sparse exchanges as programs write them by hand on the MPI library: what taquin's is measured against. Nothing bounds
// their memory.
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

/// What a rank sends: blocks that lie in `data` one behind the other, in bytes.
struct sparse_sent {
  std::vector<int> destinations;
  std::vector<count_t> counts;
  std::vector<std::byte> data;
};

/// What has come, in any order of sources.
struct sparse_came {
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
class sparse_by_hand {
 public:
  sparse_by_hand() = default;
  sparse_by_hand(const sparse_by_hand&) = delete;
  sparse_by_hand& operator=(const sparse_by_hand&) = delete;
  virtual ~sparse_by_hand() = default;
  /// Collective.
  virtual void run(const sparse_sent& sent, sparse_came& came) = 0;
};

struct sparse_way {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view rounds;
  std::unique_ptr<sparse_by_hand> (*make)(MPI_Comm comm);
  /// Extra bytes of a rank with so many blocks on either side.
  std::size_t (*memory)(int ranks, std::size_t blocks);
  /// What its ranks do, to predict its time.
  void (*moves)(const detail::sparse_pattern& x, detail::sparse_moves& to);
};

/// All of them.
std::span<const sparse_way> sparse_ways() noexcept;
/// Null when there is none of this name.
const sparse_way* find_sparse_way(std::string_view name) noexcept;
/// What a way does in one call: messages and bytes to other ranks. What a collective of the MPI library sends is not
/// known, and counts as a round. Local.
statistics account(const sparse_way& way, const sparse_sent& sent, MPI_Comm comm);
/// Why ways by hand, whose counts are of 32 bits, cannot serve a rank that sends or receives so much.
std::optional<std::string> beyond_sparse_ways(count_t bytes);

}  // namespace taquin::harness
