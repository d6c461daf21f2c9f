// Blocks that are read from their owners' arrays, where the ranks of one node may do so: the owner only receives an
// acknowledgement.
//
// A block that will leave a rank stays at its place until that rank receives the acknowledgement. So a reader that
// knows the place may read at any time, without a lock. It reads the places too, some at a time, from the owner's
// targets::order.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "node/detect.hpp"
#include "node/shared_buffers.hpp"
#include "redistribute/machine.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

class block_reader {
 public:
  /// Smaller blocks go by messages: for each run the kernel must look up the owner's pages, which costs more than the
  /// messages.
  static constexpr std::size_t least_bytes = 4096;
  /// Words in an acknowledgement. MPI libraries send messages of this size eagerly, so that the sender does not wait
  /// for an owner that is reading.
  static constexpr std::uint32_t most_words = 128;
  static std::size_t bytes(const table_sizes& s) noexcept { return array_list::bytes<block_reader>(s); }
  /// More of them meanwhile in exchange_addresses().
  static std::size_t exchange_bytes(const table_sizes& s) noexcept { return s.ranks * sizeof(owner); }

  /// `t`: the targets that all ranks have; no block may have moved since.
  block_reader(machine& m, targets& t);
  /// Exchanges where the blocks and their places are. Collective.
  static task exchange_addresses(machine& m, block_reader& r);
  /// Whether this rank may still read the blocks of `source`: the kernel may refuse it now.
  [[nodiscard]] bool may_read(int source) const;
  /// Reads the blocks of `source` that have these numbers among those for this rank (a block_list) into places of the
  /// same number, in order. Throws usage_error where the memory cannot be read.
  void read(int source, std::span<const word> list, std::span<const unit_run> into);

 private:
  /// Where a rank's blocks are.
  struct owner {
    std::uint64_t data = 0;
    std::uint64_t order = 0;  // the reader's part of it
    buffer_place shared;      // of the data, where they lie in a shared buffer; always names the process
  };
  static constexpr std::size_t words_each = sizeof(owner) / sizeof(word);
  static_assert(words_each == 12);
  static constexpr std::size_t batch = 32;  // parts that are copied together
  /// The one whose blocks are being read.
  struct origin {
    int rank = -1;
    word process = 0;
    std::uint64_t data = 0;
    std::uint64_t order = 0;
    const std::byte* seen = nullptr;  // where this process sees its shared buffer
  };
  [[nodiscard]] origin of(int source) const noexcept;
  // The places of blocks k to k + the result − 1 of `from_`, at most `count`, in places_ from `at` on.
  std::uint32_t find(std::uint32_t k, std::uint32_t count, std::uint32_t& at);
  void copy(slot at, count_t to, count_t length);
  void flush();

  machine& m_;
  targets& t_;
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&block_reader::in_, s.ranks * words_each);
    each(&block_reader::places_, std::size_t{together});
  }
  std::pmr::vector<word> in_;
  static constexpr std::uint32_t together = 1024;
  std::pmr::vector<slot> places_;  // of blocks at `from_`, from number first_ on
  std::uint32_t first_ = 0;
  std::uint32_t found_ = 0;
  std::array<remote_part, batch> parts_;
  std::size_t used_ = 0;
  origin from_;
};

/// Ranks of a node read each other's blocks if all of the node can: those whose blocks `rank` reads, by the counts that
/// ranks have published, complemented where they cannot be read. `nodes`: null if the communicator is on one. Null on
/// all ranks if no rank reads.
std::optional<rank_group> who_reads(std::span<const count_t> reported, const node_view* nodes, int rank);

}  // namespace taquin::detail
