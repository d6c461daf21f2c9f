// A collective step that gives a few bytes of each rank to each: between nodes (node/internode.hpp), or with the
// records of an agreement in log rounds (call/forwarded_blocks.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace taquin::detail {

class block_step {
 public:
  block_step() = default;
  block_step(const block_step&) = delete;
  block_step& operator=(const block_step&) = delete;
  virtual ~block_step() = default;

  /// The longest block that it transfers.
  [[nodiscard]] virtual std::size_t most_bytes() const noexcept = 0;
  [[nodiscard]] virtual int rank() const noexcept = 0;
  /// The rank that the i-th block is for.
  [[nodiscard]] virtual int reader(int i) const noexcept = 0;
  /// Where this rank writes the next block; at most most_bytes().
  virtual std::byte* payload(std::size_t bytes) = 0;
  /// The block of a rank for this one, after the step.
  [[nodiscard]] virtual std::span<const std::byte> block(int from) const noexcept = 0;
  /// Of the step: its rounds, and this rank's messages and their bytes.
  [[nodiscard]] virtual std::uint64_t rounds() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t messages() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t bytes_sent() const noexcept = 0;
};

}  // namespace taquin::detail
