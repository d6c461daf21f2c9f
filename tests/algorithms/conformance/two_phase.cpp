// How two_phase cuts blocks: the example of Communication Patterns and MPI Primitives, §4.7, and its promises for any
// sizes.
#include "algorithms/direct/two_phase.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace taquin::detail::balanced {
namespace {

// through[i][k]: bytes that i sends by way of k; parts[k]: the parts that k forwards.
struct traffic {
  std::vector<std::vector<count_t>> through;
  std::vector<count_t> parts;

  explicit traffic(const std::vector<std::vector<count_t>>& bytes)
      : through(bytes.size(), std::vector<count_t>(bytes.size())), parts(bytes.size()) {
    const int p = static_cast<int>(bytes.size());
    for (int i = 0; i < p; ++i) {
      cutter cut(i, p);
      for (const count_t m : bytes[as_size(i)]) {
        const cut_block b = cut.next(m);
        count_t end = 0;
        b.each_part(p, [&](int k, part q) {
          EXPECT_EQ(q.offset, end) << "parts follow one another";
          EXPECT_LE(q.bytes - m / p, 1) << "the parts of a block are equal, within a byte";
          EXPECT_EQ(q.bytes, b.through(k, p));
          end += q.bytes;
          through[as_size(i)][as_size(k)] += q.bytes;
          ++parts[as_size(k)];
        });
        EXPECT_EQ(end, m);
      }
    }
  }
};

// p_0: 0 0 1 1 1 2 | p_1: 0 1 1 2 2 2 | p_2: 0 0 0 1 2 2. Each rank sends m/p = 2 elements to each: S3 is an Alltoall.
TEST(two_phase, sends_m_over_p_in_each_message_of_the_papers_example) {
  const traffic t({{2, 3, 1}, {1, 2, 3}, {3, 1, 2}});
  for (const auto& messages : t.through) EXPECT_EQ(messages, std::vector<count_t>(3, 2));
}

TEST(two_phase, sends_messages_in_the_first_exchange_that_differ_by_a_byte_whatever_the_sizes) {
  std::mt19937 random(1);
  for (int p = 1; p <= 40; ++p)
    for (const int most : {1, p, 3 * p, 5000}) {
      std::vector<std::vector<count_t>> bytes(as_size(p), std::vector<count_t>(as_size(p)));
      shape s{.ranks = p, .uniform = false};
      for (auto& row : bytes) {
        count_t total = 0;
        for (count_t& m : row) total += m = std::uniform_int_distribution<count_t>(0, most)(random);
        s.max_rank_bytes = std::max(s.max_rank_bytes, static_cast<std::uint64_t>(total));
      }
      const traffic t(bytes);
      for (const auto& messages : t.through) {
        const auto [least, longest] = std::ranges::minmax(messages);
        EXPECT_LE(longest - least, 1);
        EXPECT_LE(static_cast<std::uint64_t>(longest), inner_shape(s, phase::first).max_block_bytes);
      }
      for (int k = 0; k < p; ++k) {
        count_t forwarded = 0;
        for (const auto& messages : t.through) forwarded += messages[as_size(k)];
        EXPECT_LE(static_cast<std::uint64_t>(forwarded), s.max_rank_bytes + static_cast<std::uint64_t>(p));
        EXPECT_LE(as_size(t.parts[as_size(k)]), most_forwarded(s));
      }
    }
}

TEST(two_phase, sends_equal_messages_in_both_exchanges_where_blocks_are_equal) {
  for (int p = 1; p <= 20; ++p)
    for (const count_t m : {0, 1, 7, 20, 1000}) {
      const traffic t(std::vector(as_size(p), std::vector<count_t>(as_size(p), m)));
      for (const auto& messages : t.through) EXPECT_EQ(messages, std::vector<count_t>(as_size(p), m));
      for (int j = 0; j < p; ++j)
        for (int k = 0; k < p; ++k) {
          count_t second = 0;
          for (int i = 0; i < p; ++i) second += cut_block{m, (i + j * (m % p)) % p}.through(k, p);
          EXPECT_EQ(second, m);
        }
    }
}

// 64 KiB of a rank's data: twice the ranks never take more than twice the memory, and each byte of data costs a few.
TEST(two_phase, takes_memory_linear_in_ranks_and_data) {
  const algorithm& a = *find_algorithm("two_phase");
  const auto memory = [&](int p) {
    constexpr std::uint64_t data = 64U << 10U;
    return a.memory(
        {.ranks = p, .uniform = false, .max_block_bytes = data, .max_rank_bytes = data, .max_received_bytes = data},
        {});
  };
  for (int p = 256; p < 1 << 20; p *= 2) EXPECT_LE(memory(2 * p), 2 * memory(p)) << p;
  EXPECT_LT(memory(4096), 64 * (4096 + (64U << 10U)));
}

}  // namespace
}  // namespace taquin::detail::balanced
