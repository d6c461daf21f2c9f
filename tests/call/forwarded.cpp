// Blocks that travel with the records of an agreement, all ranks in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "call/agreement_rounds.hpp"
#include "call/forwarded_blocks.hpp"

namespace taquin::test {
namespace {

using detail::agreement_rounds;
using detail::as_size;
using detail::forwarded_blocks;
using detail::property_record;

std::byte content(int from, int to, std::size_t i) {
  return static_cast<std::byte>(from * 31 + to * 7 + static_cast<int>(i));
}

// All rounds; `bytes_of(from, to)`. A rank of `silent` sends a record alone, and skips what it receives.
struct ranks_of_many {
  std::deque<forwarded_blocks> all;
  std::size_t longest = 0;  // of the messages
  std::size_t rounds = 0;
  std::vector<bool> silent;

  template <class Bytes>
  ranks_of_many(int p, Bytes bytes_of, const std::vector<int>& without = {}) : silent(as_size(p)) {
    for (const int rank : without) silent[as_size(rank)] = true;
    for (int rank = 0; rank < p; ++rank) {
      forwarded_blocks& mine = all.emplace_back(rank, p, std::pmr::new_delete_resource());
      for (int i = 0; i < p; ++i) {
        const int to = mine.reader(i);
        const std::size_t n = bytes_of(rank, to);
        std::byte* const at = mine.payload(n);
        for (std::size_t k = 0; k < n; ++k) at[k] = content(rank, to, k);
      }
    }
    const property_record record;
    for (agreement_rounds r(p); !r.done(); r.next(), ++rounds) round(r, record, p);
  }

  void round(const agreement_rounds& r, const property_record& record, int p) {
    const auto own = std::as_bytes(std::span(&record, 1));
    std::map<std::pair<int, int>, std::vector<std::byte>> sent;  // by receiver and digit
    for (int rank = 0; rank < p; ++rank) {
      all[as_size(rank)].begin_round(r.width());
      for (int z = 1; z <= r.digits(); ++z) {
        const auto message = silent[as_size(rank)] ? own : all[as_size(rank)].load(own, z);
        longest = std::max(longest, message.size());
        sent[{(rank + z * r.width()) % p, z}].assign(message.begin(), message.end());
      }
    }
    for (const auto& [to, message] : sent) {
      if (silent[as_size(to.first)]) continue;
      forwarded_blocks& theirs = all[as_size(to.first)];
      ASSERT_LE(message.size(), theirs.buffer().size());
      std::ranges::copy(message, theirs.buffer().begin());
      theirs.unload(theirs.buffer().first(message.size()));
    }
  }

  template <class Bytes>
  void expect_all(Bytes bytes_of) const {
    const int p = static_cast<int>(all.size());
    for (int to = 0; to < p; ++to)
      for (int from = 0; from < p; ++from) {
        const auto got = all[as_size(to)].block(from);
        ASSERT_EQ(got.size(), bytes_of(from, to)) << from << " > " << to << " of " << p;
        for (std::size_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], content(from, to, k)) << from << " > " << to;
      }
  }
};

TEST(forwarded_blocks, reach_their_ranks_among_any_number_of_ranks) {
  std::vector<int> counts{100, 257, 520};
  for (int p = 1; p <= 70; ++p) counts.push_back(p);
  for (const int p : counts) {
    const std::size_t most = forwarded_blocks::most_bytes_of(p);
    ASSERT_GE(most, 16U) << p;
    const auto few = [&](int from, int to) {
      std::minstd_rand random(static_cast<unsigned>(from * p + to + 1));
      random.discard(3);
      return random() % 4 == 0 ? random() % (std::min<std::size_t>(most, 100) + 1) : 0;
    };
    const ranks_of_many ranks(p, few);
    ranks.expect_all(few);
    EXPECT_LE(ranks.longest, forwarded_blocks::most_message);
  }
}

// The longest blocks of all for all: no message is longer than what every rank can receive.
TEST(forwarded_blocks, fit_their_messages_whatever_ranks_send) {
  for (const int p : {1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 72, 100}) {
    const auto most = [p](int, int) { return forwarded_blocks::most_bytes_of(p); };
    const ranks_of_many ranks(p, most);
    ranks.expect_all(most);
    EXPECT_LE(ranks.longest, forwarded_blocks::most_message) << p;
    EXPECT_TRUE(p == 1 || ranks.longest > forwarded_blocks::most_message * 3 / 4) << p << ": not less than possible";
  }
}

TEST(forwarded_blocks, are_dropped_by_ranks_that_take_no_part) {
  const auto one = [](int, int) { return std::size_t{8}; };
  const ranks_of_many ranks(20, one, {3, 4});
  EXPECT_EQ(ranks.all[2].block(1).size(), 8U);
  EXPECT_EQ(ranks.all[2].block(3).size(), 0U);
}

TEST(forwarded_blocks, take_as_much_memory_as_they_state) {
  for (const int p : {1, 2, 17, 32, 33, 513}) {
    const std::size_t bytes = forwarded_blocks::footprint(p);
    detail::memory_budget enough(bytes);
    const forwarded_blocks made(0, p, &enough);
    EXPECT_EQ(enough.peak(), bytes) << p;
    detail::memory_budget less(bytes - 1);
    EXPECT_THROW(forwarded_blocks(0, p, &less), budget_exceeded) << p;
  }
}

TEST(forwarded_blocks, are_not_among_too_many_ranks) {
  EXPECT_GE(forwarded_blocks::most_bytes_of(512), 200U);
  EXPECT_EQ(forwarded_blocks::most_bytes_of(100000), 0U);
}

}  // namespace
}  // namespace taquin::test
