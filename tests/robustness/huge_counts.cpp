// Blocks around and beyond 2^31 and 2^32 bytes, by every algorithm, in buffers that take little memory.
// TAQUIN_TEST_HUGE=all: all sizes by all algorithms; a number of bytes: this one; otherwise one size by a few.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "redistribute/machine.hpp"
#include "support/mapped_buffer.hpp"
#include "support/world.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::test {
namespace {

bool all_sizes() { return std::getenv("TAQUIN_TEST_HUGE") != nullptr; }

constexpr count_t around(int bits, count_t more) { return (count_t{1} << bits) + more; }
constexpr std::array sizes{around(31, -5), around(31, 0), around(31, 5), around(32, -2),
                           around(32, 0),  around(32, 5), around(33, 5), around(34, 0)};
constexpr std::array few_sizes{around(32, 5)};

std::vector<count_t> tested_sizes() {
  const char* text = std::getenv("TAQUIN_TEST_HUGE");
  if (text == nullptr) return {few_sizes.begin(), few_sizes.end()};
  if (std::string_view(text) == "all") return {sizes.begin(), sizes.end()};
  return {std::strtoll(text, nullptr, 0)};
}

// The limit of algorithms that stage data: they then fail, on all ranks, because it is too small.
constexpr std::size_t memory = std::size_t{64} << 20;
constexpr count_t small = 5;

class huge : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  [[nodiscard]] options opts() const { return {.algorithm = GetParam()->name, .memory = memory}; }

  /// Without TAQUIN_TEST_HUGE: one of each way to send. The others hand their blocks to the same executor.
  void SetUp() override {
    const std::string_view name = GetParam()->name;
    if (!all_sizes() && name != "native" && name != "spread_out") GTEST_SKIP() << "TAQUIN_TEST_HUGE is not set";
  }

  /// False where the algorithm does not serve it, or not in this memory.
  bool served(const exchange& x) const {
    try {
      run(x, opts());
      return true;
    } catch (const budget_exceeded&) {
    } catch (const usage_error& e) {
      EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION) << e.what();
    }
    return false;
  }
};

/// bytes[i][j]: from i to j.
using matrix = std::array<std::array<count_t, 2>, 2>;

TEST_P(huge, deliver_whole_blocks) {
  const auto rank = at(rank_in(MPI_COMM_WORLD));
  for (const count_t n : tested_sizes())
    for (const matrix& bytes : {matrix{{{small, n}, {small, 0}}}, matrix{{{0, 1}, {0, n}}}}) {
      SCOPED_TRACE(fmt::format("{} bytes", n));
      const std::array out = bytes[rank];
      const std::array in{bytes[0][rank], bytes[1][rank]};
      const std::array send_at{count_t{0}, out[0]};
      const std::array recv_at{count_t{0}, in[0]};
      const mapped_buffer from(out), to(in);
      for (std::size_t peer = 0; peer < 2; ++peer) from.write(peer, static_cast<int>(2 * rank + peer));
      if (!served(exchange::alltoallv(from.data(), count_view(out.data()), count_view(send_at.data()), MPI_BYTE,
                                      to.data(), count_view(in.data()), count_view(recv_at.data()), MPI_BYTE,
                                      MPI_COMM_WORLD)))
        continue;
      for (std::size_t peer = 0; peer < 2; ++peer)
        EXPECT_EQ(to.wrong(peer, static_cast<int>(2 * peer + rank)), 0U) << "from " << peer;
      EXPECT_EQ(to.touched_behind(), 0U);
    }
}

TEST_P(huge, blocks_of_an_alltoall_arrive_whole) {
  if (!all_sizes()) GTEST_SKIP() << "TAQUIN_TEST_HUGE is not set";
  const auto rank = at(rank_in(MPI_COMM_WORLD));
  for (const count_t n : tested_sizes()) {
    SCOPED_TRACE(fmt::format("{} bytes", n));
    const mapped_buffer from(std::array{n, n}), to(std::array{n, n});
    for (std::size_t peer = 0; peer < 2; ++peer) from.write(peer, static_cast<int>(2 * rank + peer));
    if (!served(exchange::alltoall(from.data(), n, MPI_BYTE, to.data(), n, MPI_BYTE, MPI_COMM_WORLD))) continue;
    for (std::size_t peer = 0; peer < 2; ++peer)
      EXPECT_EQ(to.wrong(peer, static_cast<int>(2 * peer + rank)), 0U) << "from " << peer;
    EXPECT_EQ(to.touched_behind(), 0U);
  }
}

// The data in the first half of rank 0 go to the second half of rank 1, and the reverse.
TEST_P(huge, blocks_arrive_whole_in_place) {
  const int rank = rank_in(MPI_COMM_WORLD);
  for (const count_t n : tested_sizes()) {
    SCOPED_TRACE(fmt::format("{} bytes", n));
    const mapped_buffer buffer(std::array{n, n});
    buffer.write(at(rank), rank);
    std::array<count_t, 2> counts{};
    counts[at(1 - rank)] = n;
    const std::array send_at{n * rank, n * rank};
    const std::array recv_at{n * (1 - rank), n * (1 - rank)};
    if (!served(exchange::alltoallv_in_place(buffer.data(), count_view(counts.data()), count_view(send_at.data()),
                                             count_view(counts.data()), count_view(recv_at.data()), MPI_BYTE,
                                             MPI_COMM_WORLD)))
      continue;
    EXPECT_EQ(buffer.wrong(at(1 - rank), 1 - rank), 0U);
    EXPECT_EQ(buffer.touched_behind(), 0U);
  }
}

// Arrays of so many bytes, whose blocks go to the other rank in reverse order: all, or the first few, which go to the
// end. Some places are free, or phases would sort the whole array for each block. A redistribution stages up to seven
// blocks in memory of its own: with fewer places the largest arrays would need 60 GB.
TEST(huge_redistributions, deliver_whole_blocks) {
  const int rank = rank_in(MPI_COMM_WORLD);
  constexpr int most_blocks = 16;
  constexpr int places = most_blocks + 4;
  const int blocks = all_sizes() ? most_blocks : 3;
  std::array<int, places> to_rank{}, to_index{};
  for (int k = 0; k < places; ++k) {
    to_rank[at(k)] = k < blocks ? 1 - rank : -1;
    to_index[at(k)] = k < blocks ? places - 1 - k : -1;
  }
  for (const auto& algorithm : detail::redistributions())
    for (const count_t n : tested_sizes()) {
      if (!all_sizes() && algorithm->name != "slots") continue;
      SCOPED_TRACE(fmt::format("{}, {} bytes", algorithm->name, n));
      const count_t length = n / most_blocks + 1;
      const mapped_buffer buffer(std::vector<count_t>(places, length));
      for (int k = 0; k < blocks; ++k) buffer.write(at(k), blocks * rank + k);
      // Whole blocks: a part of one that is staged may lie where a buffer has no memory of its own.
      redistribution moves(buffer.data(), places, length, MPI_BYTE, MPI_COMM_WORLD,
                           {.algorithm = algorithm->name, .memory = std::size_t{1} << 40U});
      moves(to_rank, to_index);
      for (int k = 0; k < blocks; ++k)
        EXPECT_EQ(buffer.wrong(at(places - 1 - k), blocks * (1 - rank) + k), 0U) << "block " << k;
      EXPECT_EQ(buffer.touched_behind(), 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(list, huge, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

}  // namespace
}  // namespace taquin::test
