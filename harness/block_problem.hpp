// Blocks of one rank that are redistributed, their places, and the MPI library's exchange of as many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "harness/block_maps.hpp"
#include "mpi/big_count.hpp"
#include "taquin/options.hpp"

namespace taquin::harness {

class block_problem {
 public:
  /// `blocks` places of `block_bytes` bytes on every rank, `live` blocks of them. Buffers come from `memory`.
  /// Collective over the world.
  block_problem(const block_workload& workload, count_t blocks, count_t live, count_t block_bytes, std::uint64_t seed,
                std::pmr::memory_resource* memory);

  [[nodiscard]] const block_map_of_rank& map() const noexcept { return map_; }
  [[nodiscard]] std::byte* data() noexcept { return data_.data(); }
  [[nodiscard]] count_t bytes_sent() const noexcept { return static_cast<count_t>(send_.size()); }

  /// A block contains its destination.
  void fill();
  [[nodiscard]] count_t wrong_bytes() const;

  /// The MPI library's exchange, out of place: blocks contain only sender and receiver.
  void fill_native();
  void run_native();
  [[nodiscard]] count_t wrong_native() const;
  void account_native(statistics& s) const;

 private:
  std::size_t bytes_;
  int rank_ = 0;
  block_map_of_rank map_;
  std::vector<bool> wanted_;  // places that a block moves to
  mpi::datatype type_;
  std::vector<int> sent_;  // blocks, per rank
  std::vector<int> received_;
  std::vector<int> send_at_;
  std::vector<int> receive_at_;
  std::pmr::vector<std::byte> data_;
  std::pmr::vector<std::byte> send_;
  std::pmr::vector<std::byte> receive_;
};

}  // namespace taquin::harness
