// The map of whole data after an aborted exchange in place, compared with the data: every unit has its origin as its
// value.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "algorithms/in_place/generators.hpp"
#include "algorithms/in_place/in_place_map.hpp"
#include "harness/in_place_problems.hpp"
#include "simulation/in_place_ranks.hpp"
#include "support/failures_to_try.hpp"

namespace taquin::detail {
namespace {

using failure::state;
using origin = std::uint64_t;

origin origin_of(int from, int to, count_t offset) {
  return static_cast<origin>(from + 1) << 48U | static_cast<origin>(to + 1) << 32U | static_cast<origin>(offset + 1);
}

struct left_in_the_middle {};

// How an exchange is left: after so many events, or in so manieth call of a rank's port.
struct ending {
  bool in_a_call = false;
  std::uint64_t after = ~std::uint64_t{0};
};

failure::block_map map_of(in_place_phases_protocol& p) { return p.map(); }

// One exchange that all ranks leave. How many events, or calls, there are until its end where it is over before.
template <class Rank>
class broken_exchange {
 public:
  broken_exchange(const in_place_problem& problem, const auto& limits) : problem_(problem) {
    for (std::size_t r = 0; r < problem.out.size(); ++r) {
      data_.emplace_back(static_cast<std::size_t>(border_of(problem.out[r], problem.in[r])), origin{0});
      for (const peer_block& b : problem.out[r])
        for (count_t k = 0; k < b.length; ++k)
          data_[r][static_cast<std::size_t>(b.at + k)] = origin_of(static_cast<int>(r), b.peer, k);
    }
    for (std::size_t r = 0; r < data_.size(); ++r)
      ranks_.push_back({problem.out[r], problem.in[r], reinterpret_cast<std::byte*>(data_[r].data()), limits});
  }

  template <class Run>
  std::uint64_t run(const ending& e, simulated_order order, unsigned seed, auto how) {
    const element unit = element::bytes(sizeof(origin));
    std::unique_ptr<Run> made;
    if constexpr (std::is_same_v<Run, phases_run>)
      made = std::make_unique<Run>(ranks_, unit, how, order, seed);
    else
      made = std::make_unique<Run>(ranks_, unit, order, seed, how);
    Run& all = *made;
    std::uint64_t seen = 0;
    const auto count = [&] {
      if (seen++ == e.after) throw left_in_the_middle{};
    };
    e.in_a_call ? all.network.watch_calls(count) : all.network.deadline(count);
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
  std::vector<Rank> ranks_;
  count_t whole_ = 0;
};

constexpr unsigned each = 7;  // failures of a problem

unsigned any(std::mt19937& random, unsigned least, unsigned most) {
  return least + static_cast<unsigned>(random() % (most - least + 1));
}

in_place_problem some_problem(std::mt19937& random, unsigned seed) {
  const std::size_t p = any(random, 2, 9);
  const bool permuted = any(random, 0, 1) == 1;
  return make_problem(random_counts(p, any(random, 1, 40), seed),
                      {permuted, static_cast<count_t>(any(random, 0, 4)), 3}, seed);
}

// Leaves an exchange at `each` places.
template <class Run, class Rank>
void leave(const in_place_problem& problem, const auto& limits, std::mt19937& random, unsigned seed, auto how) {
  const auto order = any(random, 0, 2) == 0 ? simulated_order::rounds : simulated_order::random;
  for (unsigned k = 0; k < each && !testing::Test::HasFailure(); ++k) {
    const bool in_a_call = k % 2 == 1;
    const ending whole{.in_a_call = in_a_call};
    const std::uint64_t all = broken_exchange<Rank>(problem, limits).template run<Run>(whole, order, seed, how);
    if (all == 0) continue;
    SCOPED_TRACE(testing::Message() << "problem " << seed << ", failure " << k);
    const ending e{in_a_call, random() % all};
    broken_exchange<Rank>(problem, limits).template run<Run>(e, order, seed, how);
  }
}

TEST(map_of_what_is_whole, tells_the_truth_wherever_an_exchange_is_left) {
  const unsigned problems = test::failures_to_try(10500) / each;
  for (unsigned seed = 0; seed < problems && !testing::Test::HasFailure(); ++seed) {
    std::mt19937 random(seed);
    const auto problem = some_problem(random, seed);
    in_place_limits l;
    l.runs = static_cast<int>(any(random, 1, 5));
    l.per_peer = static_cast<int>(any(random, 1, 3));
    l.requests = static_cast<int>(any(random, 1, 8));
    l.sends = static_cast<int>(any(random, 1, 8));
    l.staged = static_cast<int>(any(random, 1, 5));
    l.aux = any(random, 1, 30);
    l.chunk = any(random, 1, 19);
    l.aux_chunk = any(random, 1, 19);
    l.small_chunk = any(random, 1, 9);
    l.swap_chunk = any(random, 1, 19);
    l.bytes_per_test = static_cast<std::size_t>(any(random, 1, 9)) * sizeof(origin);
    l.scratch = any(random, 0, 2) == 0;
    const auto how = static_cast<simulated_port_kind>(any(random, 0, 2));
    leave<in_place_run, in_place_rank>(problem, l, random, seed, how);
  }
}

TEST(map_of_what_is_whole, tells_the_truth_wherever_an_exchange_in_phases_is_left) {
  const unsigned problems = test::failures_to_try(10500) / each;
  for (unsigned seed = 0; seed < problems && !testing::Test::HasFailure(); ++seed) {
    std::mt19937 random(seed);
    const auto problem = some_problem(random, seed);
    phase_limits l;
    l.heap = any(random, 0, 1) == 1;
    l.parts = l.heap ? 1 : static_cast<int>(any(random, 1, 4));
    l.aux = any(random, 4, 40);
    l.most = any(random, 1, 30);
    l.bytes_per_test = static_cast<std::size_t>(any(random, 1, 9)) * sizeof(origin);
    const auto how = any(random, 0, 1) == 0 ? phase_requests::dense : phase_requests::sparse;
    leave<phases_run, phase_rank>(problem, l, random, seed, how);
  }
}

TEST(map_of_what_is_whole, says_of_all_units_that_they_have_arrived_at_the_end_and_of_none_at_the_beginning) {
  const auto problem = make_problem(random_counts(5, 30, 3), {true, 2, 5}, 3);
  for (const auto how :
       {simulated_port_kind::messages, simulated_port_kind::fetching, simulated_port_kind::fetching_on_nodes}) {
    broken_exchange<in_place_rank> whole(problem, in_place_limits{});
    whole.run<in_place_run>({}, simulated_order::random, 1, how);
    EXPECT_EQ(whole.whole(), whole.total());
  }
  broken_exchange<phase_rank> whole(problem, phase_limits{.aux = 4});
  whole.run<phases_run>({}, simulated_order::random, 1, phase_requests::dense);
  EXPECT_EQ(whole.whole(), whole.total());
}

}  // namespace
}  // namespace taquin::detail
