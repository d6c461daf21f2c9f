// The blocks of a rank or a node for others in a step among nodes (node/internode.hpp): a record, the end of each run,
// then the runs, one after another. A run is for one node, or of one rank: the sizes of its blocks, then the blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/sizes.hpp"

namespace taquin::detail {

/// A run, whose blocks are so many; empty: it has no block.
class block_run {
 public:
  using number = std::uint32_t;
  static constexpr number not_here = ~number{0};  ///< instead of a size: the block follows as a message

  block_run(std::span<const std::byte> bytes, int blocks) noexcept : bytes_(bytes), blocks_(blocks) {}
  static constexpr std::size_t head(int blocks) noexcept { return sizeof(number) * as_size(blocks); }

  [[nodiscard]] bool elsewhere(int i) const noexcept { return !bytes_.empty() && reported(i) == not_here; }
  [[nodiscard]] std::span<const std::byte> block(int i) const noexcept {
    if (bytes_.empty()) return {};
    std::size_t before = head(blocks_);
    for (int k = 0; k < i; ++k) before += size(k);
    return bytes_.subspan(before, size(i));
  }
  static void report(std::byte* run, int i, number size) noexcept { std::memcpy(run + head(i), &size, sizeof size); }

 private:
  [[nodiscard]] number reported(int i) const noexcept {
    number n = 0;
    std::memcpy(&n, bytes_.data() + head(i), sizeof n);
    return n;
  }
  [[nodiscard]] std::size_t size(int i) const noexcept { return elsewhere(i) ? 0 : reported(i); }

  std::span<const std::byte> bytes_;
  int blocks_;
};

/// All of them, in memory of the caller's.
class run_list {
 public:
  using number = block_run::number;
  static constexpr std::size_t record_bytes = 120;
  /// The record of one rank for all others. Records of a node travel combined.
  using record = std::array<std::byte, record_bytes>;

  run_list(std::byte* at, int runs) noexcept : at_(at), runs_(runs) {}
  /// Bytes in front of the runs.
  static constexpr std::size_t head(int runs) noexcept { return record_bytes + sizeof(number) * as_size(runs + 1); }

  [[nodiscard]] record what() const noexcept {
    record r;
    std::memcpy(r.data(), at_, record_bytes);
    return r;
  }
  void put(const record& r) const noexcept { std::memcpy(at_, r.data(), record_bytes); }

  /// Where the first run is written.
  [[nodiscard]] std::byte* first() const noexcept { return at_ + head(runs_); }
  /// No run has a byte.
  void clear() const noexcept { std::memset(at_ + record_bytes, 0, head(runs_) - record_bytes); }
  /// The first run begins. Runs are then ended in their order.
  void begin() const noexcept { end(-1, first()); }
  void end(int run, const std::byte* here) const noexcept {
    const auto n = static_cast<number>(here - first());
    std::memcpy(at_ + record_bytes + sizeof(number) * as_size(run + 1), &n, sizeof n);
  }
  [[nodiscard]] std::span<const std::byte> operator[](int run) const noexcept {
    return {first() + begin_of(run), begin_of(run + 1) - begin_of(run)};
  }
  /// Of all.
  [[nodiscard]] std::size_t bytes() const noexcept { return head(runs_) + begin_of(runs_); }

 private:
  [[nodiscard]] std::size_t begin_of(int run) const noexcept {
    number n = 0;
    std::memcpy(&n, at_ + record_bytes + sizeof(number) * as_size(run), sizeof n);
    return n;
  }

  std::byte* at_;
  int runs_;
};

}  // namespace taquin::detail
