// How facts and sums combine over ranks in log rounds, all ranks in one process.
#include <gtest/gtest.h>

#include <vector>

#include "base/pair_weights.hpp"
#include "call/agreement_rounds.hpp"

namespace taquin::test {
namespace {

using detail::agreement_rounds;
using detail::property_record;
using detail::rank_properties;

/// The result on each rank after all rounds.
std::vector<property_record> combine(std::vector<property_record> known) {
  const int p = static_cast<int>(known.size());
  for (agreement_rounds rounds(p);; rounds.next()) {
    const std::vector<property_record> reported = known;
    for (int rank = 0; rank < p; ++rank) {
      property_record& v = known[static_cast<std::size_t>(rank)];
      if (rounds.done()) {
        rounds.end(v);
        continue;
      }
      rounds.begin(v);
      for (int digit = 1; digit <= rounds.digits(); ++digit) {
        const property_record& theirs = reported[static_cast<std::size_t>((rank - digit * rounds.width() % p + p) % p)];
        v.merge(theirs);
        rounds.add_up(v, digit, theirs);
      }
    }
    if (rounds.done()) return known;
  }
}

std::vector<property_record> records(int p, auto call_word_of) {
  std::vector<property_record> all(static_cast<std::size_t>(p));
  for (int rank = 0; rank < p; ++rank) all[static_cast<std::size_t>(rank)].report(call_word_of(rank));
  return all;
}

TEST(agreement, adds_up_each_rank_once_for_any_number_of_ranks) {
  for (int p = 1; p <= 600; ++p) {
    std::uint64_t sum = 0;
    const auto call_word_of = [](int rank) {
      rank_properties f;
      f.unmatched = detail::pair_weights::sender(rank);
      return f;
    };
    for (int rank = 0; rank < p; ++rank) sum += call_word_of(rank).unmatched;
    for (const property_record& v : combine(records(p, call_word_of)))
      ASSERT_EQ(v.of_all().unmatched, sum) << p << " ranks";
  }
}

TEST(agreement, knows_the_most_the_least_and_the_limit_of_any_rank) {
  for (const int p : {1, 2, 3, 5, 8, 9, 17, 64, 65, 100}) {
    const auto all = combine(records(p, [p](int rank) {
      rank_properties f;
      f.max_block_bytes = static_cast<std::uint64_t>(rank);
      f.min_block_bytes = static_cast<std::uint64_t>(rank) + 3;
      f.memory = rank == p / 2 ? 1000U : unlimited;
      f.large = rank == p - 1;
      f.piggybacked = rank != 0;
      f.moves = rank == 0;
      return f;
    }));
    for (const property_record& v : all) {
      const rank_properties f = v.of_all();
      EXPECT_EQ(f.max_block_bytes, static_cast<std::uint64_t>(p - 1));
      EXPECT_EQ(f.min_block_bytes, 3U);
      EXPECT_EQ(f.memory, 1000U);
      EXPECT_TRUE(f.large);
      EXPECT_FALSE(f.piggybacked);
      EXPECT_TRUE(f.moves);
    }
  }
}

TEST(agreement, finds_one_rank_that_differs) {
  for (const int p : {2, 3, 7, 8, 33, 100})
    for (const int other : {0, p / 2, p - 1}) {
      const auto all = combine(records(p, [other](int rank) {
        rank_properties f;
        f.choices = rank == other ? 5U : 4U;
        return f;
      }));
      for (const property_record& v : all)
        EXPECT_FALSE(detail::combine::identical::holds(v.numbers.data() + property_record::choices)) << p << " ranks";
    }
}

// Sizes that match add up to 0, whatever the senders and sizes; a byte that does not match is seen.
TEST(agreement, sees_one_byte_that_nobody_expects) {
  using detail::pair_weights;
  for (const int p : {2, 3, 5, 16, 30}) {
    const auto bytes = [](int from, int to) { return static_cast<std::uint64_t>((from * 31 + to * 17) % 101); };
    for (const bool odd : {false, true}) {
      const auto all = combine(records(p, [&](int rank) {
        rank_properties f;
        for (int peer = 0; peer < p; ++peer) {
          const std::uint64_t more = odd && rank == 0 && peer == p - 1 ? 1 : 0;
          f.unmatched += (bytes(rank, peer) + more) * pair_weights::receiver(peer) * pair_weights::sender(rank);
          f.unmatched -= bytes(peer, rank) * pair_weights::sender(peer) * pair_weights::receiver(rank);
        }
        return f;
      }));
      for (const property_record& v : all) EXPECT_EQ(v.of_all().unmatched != 0, odd) << p << " ranks";
    }
  }
}

}  // namespace
}  // namespace taquin::test
