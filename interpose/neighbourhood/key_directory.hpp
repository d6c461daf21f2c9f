// Where ranks of a node find memory that another one of them makes later, in a start: without a message or a
// collective, which a start could not wait for. Each rank has entries in memory that the node shares from MPI_Init on.
//
// The owner of an entry writes the key, then the number (release). A reader that finds its number before and after it
// has read the key has that key; an owner that reuses the entry first takes the number away.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "node/mapping.hpp"

namespace taquin::interpose {

class key_directory {
 public:
  /// Of each rank: keys of memory that not all of its ranks have mapped.
  static constexpr std::size_t entries = 64;

  /// For the ranks of `comm` that are on this one's node, in ascending order, this one among them. Nothing else is in
  /// progress on `comm`. Collective. Null on all ranks of `comm` where one has no memory for it.
  static std::unique_ptr<key_directory> make(MPI_Comm comm, std::span<const int> here);
  key_directory(const key_directory&) = delete;
  key_directory& operator=(const key_directory&) = delete;

  /// Publishes a key of this rank, under a number that is never used again. False where the entry is in use: later.
  [[nodiscard]] bool publish(int number, const detail::mapping_key& key) noexcept;
  /// All others have it, or need it no more.
  void withdraw(int number) noexcept;
  /// The key that a rank of `comm` on this node has published; none where it has not yet, or has withdrawn it.
  [[nodiscard]] std::optional<detail::mapping_key> find(int rank, int number) const noexcept;

 private:
  using key_words = std::array<std::uint64_t, sizeof(detail::mapping_key) / sizeof(std::uint64_t)>;
  struct entry {
    alignas(detail::cache_line) std::atomic<std::uint64_t> number;  // plus one; 0: free
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<key_words>> key;
  };

  key_directory() = default;
  [[nodiscard]] entry& of(int rank, int number) const noexcept;

  int rank_ = 0;
  std::vector<int> here_;
  detail::mapping memory_;
};

}  // namespace taquin::interpose
