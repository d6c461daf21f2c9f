// An exchange whose blocks are piggybacked on its agreement, in a step among nodes: node_aggregated in a blocking call
// with small blocks. If blocks are small on average the step carries the small ones, and the sizes of the others. These
// follow directly, after ranks have agreed; a receiver waits only for the blocks that the step has announced.
#pragma once

#include <memory_resource>
#include <vector>

#include "base/memory_budget.hpp"
#include "call/agree.hpp"
#include "call/operation.hpp"
#include "mpi/big_count.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "mpi/owned.hpp"
#include "mpi/request_set.hpp"
#include "node/internode.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class piggybacked_exchange final : public operation, public piggybacked_blocks, private mpi::awaited {
 public:
  /// Whether this rank's blocks are short enough for the step, all of them or on average, and its share of the step's
  /// memory is within the rest of the budget. In place all must be short, and the counts the same both ways or the
  /// types without gaps; the share is then the memory of blocks of this length, because ranks with little memory
  /// exchange in place. Local.
  static bool possible(const exchange& x, const internode& step, const memory_budget& budget) noexcept;
  /// Whether blocks of such sizes are short enough for a step that carries up to `most` bytes, all or on average.
  static bool short_enough(std::uint64_t longest, std::uint64_t average, exchange::form kind, bool one_buffer,
                           std::size_t most) noexcept {
    if (longest <= most) return true;
    return !one_buffer && kind != exchange::form::alltoall && average <= most / shape::short_on_average;
  }
  /// Bytes of a rank, from values that are identical on all ranks.
  static std::size_t footprint(const shape& s) noexcept;

  /// `x` must be valid and its types known. Blocks that follow directly have the tag.
  piggybacked_exchange(const exchange& x, mpi::communicator& comm, int tag, memory_budget& budget);

  void write() override;
  /// Copies the blocks of the others to their places, and sends those that follow. Must be called after all ranks'
  /// blocks have arrived.
  void start() override;
  bool test() override;
  /// Throws usage_error on the rank whose receive block is too short, with everything else in place.
  void wait() override;
  void account(statistics& s) const override;

 private:
  [[nodiscard]] bool is_long(count_t bytes) const noexcept;
  [[nodiscard]] std::size_t count_long(const blocks& side) const noexcept;
  void deliver_own(int own);
  void deliver(int from);
  void receive(int from);
  void send(int to);
  [[nodiscard]] mpi::counted message(const blocks& side, int peer);
  [[nodiscard]] count_t capacity(std::size_t number) const noexcept;
  void end();
  void describe(mpi::wait_record& to) const override;

  const exchange x_;
  mpi::communicator& comm_;
  internode& step_;
  int tag_;
  memory_budget& budget_;
  mpi::request_set direct_;
  std::pmr::vector<int> peers_;            // of these
  std::pmr::vector<mpi::datatype> types_;  // of messages beyond what an int counts
  std::size_t posted_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t messages_ = 0;
  count_t copied_ = 0;
  int too_long_from_ = -1;
};

}  // namespace taquin::detail
