// The part of a sparse exchange in the messages in which ranks agree (call/agree.hpp), among nodes or among all ranks:
// headers, and the data of small blocks. Larger ones follow: immediately if they are few, otherwise when their
// receivers request them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/sparse/headers.hpp"
#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "mpi/communicator.hpp"
#include "mpi/request_set.hpp"
#include "node/block_step.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

class piggybacked_headers final : public piggybacked_blocks {
 public:
  /// Unsolicited bytes of one rank that follow, at most: a receiver without a place for incoming data receives them
  /// block by block all the same.
  static constexpr std::uint64_t most_unsolicited = std::uint64_t{128} << 10U;
  /// Bytes of a block in the step, beside its data; and of one whose data are not in it.
  static constexpr std::size_t of_count = sizeof(std::uint64_t);
  static constexpr std::size_t header_bytes = 2 * sizeof(std::uint64_t);

  /// All must outlive it. `memory` holds the step's own part as well.
  piggybacked_headers(block_step& step, const sparse_data& mine, memory_budget& memory) noexcept
      : step_(step), mine_(mine), memory_(memory) {}

  /// Whether this rank's blocks fit into the step, those of a one-step call with their data. Takes 4 bytes for each
  /// rank and 12 for each block. `x` must outlive it. Local.
  bool prepare(const sparse_blocks& x, int ranks, bool at_once);
  void write() override;
  [[nodiscard]] const block_step& step() const noexcept { return step_; }
  /// Elements whose data are not in the step.
  [[nodiscard]] count_t left() const noexcept { return left_; }

  /// The data of a one-step call that were in the step, at their places among all incoming data.
  void take_data(std::byte* into, int ranks) const;
  /// The others, of `blocks`, without requests; null: this rank has no place for them. Returns its messages.
  std::uint64_t move_rest(mpi::communicator& comm, int tag, std::span<const header> blocks, std::byte* into,
                          std::pmr::memory_resource* memory) const;

  /// The properties of all ranks that each must know.
  void report(proposal& p) const noexcept;
  /// All make the call in as many steps, and have memory for the incoming blocks, whatever their senders and sizes.
  static bool fit(const agreed& all, int ranks) noexcept;
  static bool any_left(const agreed& all) noexcept { return all.max_received_bytes > 0; }
  /// Data that are not in the step may be sent unsolicited: no rank sends or receives more messages than `in_flight`,
  /// no rank more than most_unsolicited bytes, and all have memory for as many requests and for a block that no caller
  /// wants. The limit is that of all ranks.
  static bool few_left(const agreed& all, int ranks, std::size_t in_flight, count_t element_bytes) noexcept {
    const std::uint64_t arriving = all.max_peers * as_size(ranks);
    return all.max_rank_bytes <= in_flight && arriving <= in_flight &&
           all.max_received_bytes <=
               most_unsolicited / std::max<std::uint64_t>(static_cast<std::uint64_t>(element_bytes), 1) &&
           (all.memory == unlimited ||
            all.memory - all.unit_span >
                2 * (as_size(ranks) * all.max_rank_bytes * each_arrived +
                     mpi::request_set::bytes(all.max_rank_bytes + arriving) + most_unsolicited));
  }

  /// Of this rank's incoming blocks, by source: f(notice, data); data is null if they were not in the step.
  template <class Each>
  static void each(const block_step& step, int ranks, const element& e, Each f) {
    for (int from = 0; from < ranks; ++from) {
      auto rest = step.block(from);
      while (!rest.empty()) {
        const std::uint64_t reported = take(rest);
        header n{from, step.rank(), static_cast<count_t>(reported >> 1U), 0};
        if ((reported & 1U) == 0) {
          n.first = static_cast<count_t>(take(rest));
          f(n, static_cast<const std::byte*>(nullptr));
          continue;
        }
        n.to = header::here;
        f(n, rest.data());
        rest = rest.subspan(static_cast<std::size_t>(n.count * e.size));
      }
    }
  }
  static std::size_t count(const block_step& step, int ranks, const element& e) {
    std::size_t n = 0;
    each(step, ranks, e, [&](const header&, const std::byte*) { ++n; });
    return n;
  }

 private:
  static constexpr std::uint64_t each_arrived = sizeof(header) + sizeof(int) + sizeof(count_t);
  [[nodiscard]] bool sums_fit(int ranks) const noexcept;

  static std::uint64_t take(std::span<const std::byte>& rest) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, rest.data(), sizeof word);
    rest = rest.subspan(sizeof word);
    return word;
  }
  [[nodiscard]] std::size_t bytes_of(int block) const noexcept;
  // f(block, whether its data are in the step) for those to a rank; the bytes of all.
  template <class Each>
  std::size_t blocks_to(int rank, Each f) const;

  // f(rank, block) for those to other ranks whose data are not in the step.
  template <class Each>
  void each_left(int own, int ranks, Each f) const;

  block_step& step_;
  const sparse_data& mine_;
  memory_budget& memory_;
  count_view counts_;
  bool data_ = false;
  count_t left_ = 0;
  std::uint64_t most_left_ = 0;                         // blocks to one rank whose data are not in the step
  std::optional<std::pmr::vector<std::int32_t>> to_;    // the first block to each rank; -1: none
  std::optional<std::pmr::vector<std::int32_t>> next_;  // to the same rank
  std::optional<std::pmr::vector<count_t>> first_;      // elements before the block
};

}  // namespace taquin::detail
