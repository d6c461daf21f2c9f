// Blocks that are read from their owners' arrays, where the ranks of one node may do so: the owner only receives an
// acknowledgement.
//
// A block that will leave a rank stays at its place until that rank receives the acknowledgement. So a reader that
// knows the place may read at any time, without a lock.
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

  /// `t`: the targets that all ranks have; no block may have moved since.
  block_reader(machine& m, const targets& t);
  /// Exchanges the places of blocks. Collective.
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
    buffer_place shared;  // of the data, where they lie in a shared buffer; always names the process
  };
  static constexpr std::size_t words_each = sizeof(owner) / sizeof(word);
  static_assert(words_each == 10);
  static constexpr std::size_t batch = 32;  // parts that are copied together
  /// The one whose blocks are being read.
  struct origin {
    int rank = -1;
    word process = 0;
    std::uint64_t data = 0;
    const std::byte* seen = nullptr;  // where this process sees its shared buffer
  };
  [[nodiscard]] origin of(int source) const noexcept;
  void copy(slot at, count_t to, count_t length);
  void flush();

  machine& m_;
  const targets& t_;
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&block_reader::out_, s.ranks * words_each);
    each(&block_reader::in_, s.ranks * words_each);
    each(&block_reader::places_, s.incoming);
  }
  std::pmr::vector<word> out_;
  std::pmr::vector<word> in_;
  std::pmr::vector<slot> places_;  // of all blocks for this rank at their owners, as targets::index
  std::array<remote_part, batch> parts_;
  std::size_t used_ = 0;
  origin from_;
};

/// Ranks of a node read each other's blocks if all of the node can: those whose blocks `rank` reads, by the counts that
/// ranks have published, complemented where they cannot be read. `nodes`: null if the communicator is on one. Null on
/// all ranks if no rank reads.
std::optional<rank_group> who_reads(std::span<const count_t> reported, const node_view* nodes, int rank);

}  // namespace taquin::detail
