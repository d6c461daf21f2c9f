// The exchange of a redistribution in one array: from a part whose runs lie in the order of the source's memory to one
// whose runs lie in the same order of axes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "base/sizes.hpp"
#include "call/call.hpp"
#include "exchange/shape.hpp"
#include "layouts/access.hpp"
#include "layouts/owner_runs.hpp"
#include "taquin/layout.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The data that move. `leaving`: this rank's runs by their targets' positions in the grid of `to`; `coming`: by their
/// sources' in that of `from`. `most`: bytes of the largest part of any rank.
struct array_move {
  const layout& from;
  const layout& to;
  const owner_runs& leaving;
  const owner_runs& coming;
  std::size_t most;
  std::size_t ranks;
  const layout_options& options;

  /// For an exchange inside.
  [[nodiscard]] taquin::options inner(const char* algorithm, std::size_t memory, statistics& stats) const {
    taquin::options o;
    o.algorithm = algorithm;
    o.memory = memory;
    o.timeout = options.timeout;
    o.on_timeout = options.on_timeout;
    o.in_flight = options.in_flight;
    o.progress = options.progress;
    o.stats = &stats;
    return o;
  }
};

/// Beside what its operation takes, a plan takes at most so many bytes.
inline constexpr std::size_t plan_slack = 4096;

/// All ranks exchange bytes.
inline shape shape_of_bytes(std::size_t ranks, bool in_place) noexcept {
  shape s;
  s.in_place = in_place;
  s.ranks = static_cast<int>(ranks);
  s.max_peers = static_cast<int>(ranks);
  s.unit_span = 1;
  s.unit_size = 1;
  return s;
}

/// A number for each rank, and the sums of those before it.
struct numbers_of_ranks {
  numbers_of_ranks(std::size_t ranks, std::pmr::memory_resource* memory)
      : counts(ranks, 0, memory), first(ranks, 0, memory) {}
  static constexpr std::size_t bytes(std::size_t ranks) noexcept { return 2 * ranks * sizeof(count_t); }
  std::pmr::vector<count_t> counts;
  std::pmr::vector<count_t> first;
};

class array_exchange {
 public:
  array_exchange() = default;
  array_exchange(const array_exchange&) = delete;
  array_exchange& operator=(const array_exchange&) = delete;
  virtual ~array_exchange() = default;

  /// Prepares what communicates; nothing can be refused afterwards. Collective, after the agreement and outside its
  /// stage. `running`: for stages of its own.
  virtual void join(std::byte* data, call& running, MPI_Comm comm) = 0;
  virtual void start(std::byte* data) = 0;
  virtual bool test() = 0;
  virtual void wait() = 0;
  /// Once it is complete: the rank's own steps that are left.
  virtual void finish(std::byte* data) = 0;
  /// The figures of the last exchange.
  [[nodiscard]] const statistics& moved() const noexcept { return moved_; }
  /// The most bytes of its plans, which are not in the budget.
  [[nodiscard]] virtual std::size_t inner_peak() const noexcept = 0;

 protected:
  statistics moved_;
};

}  // namespace taquin::detail
