// What is whole after an exchange in place was left in the middle, compared with the data: every unit says where it
// comes from.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "algorithms/in_place/generators.hpp"
#include "algorithms/in_place/in_place_map.hpp"
#include "harness/in_place_problems.hpp"
#include "simulation/in_place_ranks.hpp"

namespace taquin::detail {
namespace {

using failure::state;
using origin = std::uint64_t;

origin origin_of(int from, int to, count_t offset) {
  return static_cast<origin>(from + 1) << 48U | static_cast<origin>(to + 1) << 32U | static_cast<origin>(offset + 1);
}

struct left_in_the_middle {};

// One exchange that all ranks leave after so many events. How many there are until its end where it is over before.
class broken_exchange {
 public:
  broken_exchange(const in_place_problem& problem, const in_place_limits& limits) : problem_(problem) {
    for (std::size_t r = 0; r < problem.out.size(); ++r) {
      data_.emplace_back(static_cast<std::size_t>(border_of(problem.out[r], problem.in[r])), origin{0});
      for (const peer_block& b : problem.out[r])
        for (count_t k = 0; k < b.length; ++k)
          data_[r][static_cast<std::size_t>(b.at + k)] = origin_of(static_cast<int>(r), b.peer, k);
    }
    for (std::size_t r = 0; r < data_.size(); ++r)
      ranks_.push_back({problem.out[r], problem.in[r], reinterpret_cast<std::byte*>(data_[r].data()), limits});
  }

  std::uint64_t run(std::uint64_t events, simulated_order order, unsigned seed, simulated_port_kind how) {
    in_place_run all(ranks_, element::bytes(sizeof(origin)), order, seed, how);
    std::uint64_t seen = 0;
    all.network.watch([&] {
      if (seen++ == events) throw left_in_the_middle{};
    });
    bool over = false;
    try {
      all.run();
      over = true;
    } catch (const left_in_the_middle&) {
    }
    whole_ = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) compare(static_cast<int>(r), map_of(all.of(r)), over);
    return seen;
  }
  [[nodiscard]] count_t whole() const { return whole_; }  // units that some rank has arrived or staged
  [[nodiscard]] count_t total() const {
    count_t all = 0;
    for (const auto& blocks : problem_.in)
      for (const peer_block& b : blocks) all += b.length;
    return all;
  }

 private:
  void compare(int rank, const failure::block_map& map, bool over) {
    const auto& mine = data_[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(map.known);
    count_t listed = 0;
    for (const failure::part& p : map.incoming) {
      listed += p.length;
      if (over) {
        EXPECT_EQ(p.what, state::arrived) << "rank " << rank;
      }
      for (count_t k = 0; k < p.length; ++k) {
        const origin truth = origin_of(p.peer, rank, p.offset + k);
        if (p.what == state::arrived) {
          ASSERT_EQ(mine[static_cast<std::size_t>(p.at + k)], truth) << "rank " << rank;
        }
        if (p.what == state::staged) {
          origin kept = 0;
          std::memcpy(&kept, map.staged.data() + static_cast<std::size_t>(p.at + k) * sizeof kept, sizeof kept);
          ASSERT_EQ(kept, truth) << "rank " << rank << ", staged";
        }
        whole_ += p.what == state::arrived || p.what == state::staged;
      }
    }
    count_t expected = 0;
    for (const peer_block& b : problem_.in[static_cast<std::size_t>(rank)]) expected += b.length;
    EXPECT_EQ(listed, expected) << "every incoming unit is listed once";
    for (const failure::part& p : map.outgoing) {
      if (over) ADD_FAILURE() << "rank " << rank << " still has what it has sent";
      for (count_t k = 0; p.what == state::stands && k < p.length; ++k)
        ASSERT_EQ(mine[static_cast<std::size_t>(p.at + k)], origin_of(rank, p.peer, p.offset + k))
            << "rank " << rank << " for " << p.peer;
    }
  }

  const in_place_problem& problem_;
  std::vector<std::vector<origin>> data_;
  std::vector<in_place_rank> ranks_;
  count_t whole_ = 0;
};

TEST(map_of_what_is_whole, tells_the_truth_wherever_an_exchange_is_left) {
  constexpr unsigned problems = 1500;
  constexpr int failures = 7;
  unsigned left = 0;
  for (unsigned seed = 0; seed < problems && !testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](unsigned least, unsigned most) {
      return least + static_cast<unsigned>(random() % (most - least + 1));
    };
    const std::size_t p = any(2, 9);
    const bool permuted = any(0, 1) == 1;
    const auto problem =
        make_problem(random_counts(p, any(1, 40), seed), {permuted, static_cast<count_t>(any(0, 4)), 3}, seed);
    in_place_limits l;
    l.runs = static_cast<int>(any(1, 5));
    l.per_peer = static_cast<int>(any(1, 3));
    l.requests = static_cast<int>(any(1, 8));
    l.sends = static_cast<int>(any(1, 8));
    l.staged = static_cast<int>(any(1, 5));
    l.aux = any(1, 30);
    l.chunk = any(1, 19);
    l.aux_chunk = any(1, 19);
    l.small_chunk = any(1, 9);
    l.swap_chunk = any(1, 19);
    l.scratch = any(0, 2) == 0;
    const auto order = any(0, 2) == 0 ? simulated_order::rounds : simulated_order::random;
    const auto how = static_cast<simulated_port_kind>(any(0, 2));
    const std::uint64_t all = broken_exchange(problem, l).run(~std::uint64_t{0}, order, seed, how);
    for (int k = 0; k < failures && all > 0; ++k, ++left) {
      SCOPED_TRACE(testing::Message() << "problem " << seed << ", left after " << k << " of " << failures);
      broken_exchange(problem, l).run(random() % all, order, seed, how);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GE(left, problems);
}

TEST(map_of_what_is_whole, says_of_all_units_that_they_have_arrived_at_the_end_and_of_none_at_the_beginning) {
  const auto problem = make_problem(random_counts(5, 30, 3), {true, 2, 5}, 3);
  for (const auto how :
       {simulated_port_kind::messages, simulated_port_kind::fetching, simulated_port_kind::fetching_on_nodes}) {
    broken_exchange whole(problem, {});
    whole.run(~std::uint64_t{0}, simulated_order::random, 1, how);
    EXPECT_EQ(whole.whole(), whole.total());
  }
}

}  // namespace
}  // namespace taquin::detail
