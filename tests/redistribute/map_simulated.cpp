// The map of whole data after an aborted redistribution, compared with the data: every block has its origin as its
// value. All ranks in one process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "redistribute/redistribution_map.hpp"
#include "redistribute/simulated_run.hpp"
#include "support/failures_to_try.hpp"

namespace taquin::detail {
namespace {

using failure::state;
using test::block_problem;
using place = std::pair<int, count_t>;  // a rank and an index there

struct left_in_the_middle {};

// How a redistribution is left: after so many events, or in so manieth call of a rank's port.
struct ending {
  bool in_a_call = false;
  std::uint64_t after = ~std::uint64_t{0};
};

class broken_redistribution {
 public:
  broken_redistribution(const redistribution_algorithm& a, const block_problem& all, unsigned seed, slot chunk,
                        double progress, const redistribution_algorithm& successor, readers who, beginning begins)
      : all_(all), run_(a, all, seed, chunk, progress, successor, who, begins) {
    for (std::size_t r = 0; r < all.size(); ++r)
      for (std::size_t k = 0; k < all[r].ranks.size(); ++k)
        if (all[r].ranks[k] >= 0)
          truth_[{all[r].ranks[k], all[r].indices[k]}] = {static_cast<int>(r), static_cast<count_t>(k)};
  }

  // How many events, or calls, there were.
  std::uint64_t run(const ending& e) {
    std::uint64_t seen = 0;
    const auto count = [&] {
      if (seen++ == e.after) throw left_in_the_middle{};
    };
    e.in_a_call ? run_.network.watch_calls(count) : run_.network.deadline(count);
    try {
      run_.network.run(run_.tasks);
      over_ = true;
    } catch (const left_in_the_middle&) {
    }
    for (std::size_t r = 0; r < all_.size(); ++r) {
      const simulated_rank& s = run_.ranks[r];
      const failure::block_map map = map_of(*s.map, *s.known, static_cast<int>(r));
      if (map.known) {
        compare(static_cast<int>(r), map);
      } else {
        expect_untouched(r);
      }
    }
    return seen;
  }
  [[nodiscard]] std::uint64_t whole() const { return whole_; }
  [[nodiscard]] std::uint64_t missing() const { return missing_; }

 private:
  std::uint64_t truth(int to, count_t index) const {
    const place from = truth_.at({to, index});
    return test::identity(from.first, static_cast<int>(from.second));
  }
  // Nothing has moved.
  void expect_untouched(std::size_t r) {
    EXPECT_FALSE(over_);
    for (std::size_t k = 0; k < all_[r].ranks.size(); ++k)
      ASSERT_EQ(run_.ranks[r].data[k], test::identity(static_cast<int>(r), static_cast<int>(k)));
  }
  // The block of a part, from the array or from what the map holds.
  std::uint64_t block(int rank, const failure::block_map& map, const failure::part& p, count_t k) {
    std::uint64_t b = 0;
    if (p.what == state::staged) {
      std::memcpy(&b, map.staged.data() + static_cast<std::size_t>(p.at + k) * sizeof b, sizeof b);
    } else {
      b = run_.ranks[static_cast<std::size_t>(rank)].data[static_cast<std::size_t>(p.at + k)];
    }
    return b;
  }
  void compare(int rank, const failure::block_map& map) {
    std::map<count_t, int> listed;
    for (const failure::part& p : map.incoming)
      for (count_t k = 0; k < p.length; ++k) {
        ++listed[p.offset + k];
        ASSERT_EQ(p.peer, truth_.at({rank, p.offset + k}).first) << "who had it last";
        missing_ += p.what == state::missing;
        if (p.what == state::missing) continue;
        ++whole_;
        ASSERT_EQ(block(rank, map, p, k), truth(rank, p.offset + k)) << "rank " << rank;
        if (p.what == state::arrived) {
          ASSERT_EQ(p.at, p.offset);
        }
        if (over_) {
          ASSERT_EQ(p.what, state::arrived);
        }
      }
    std::size_t expected = 0;
    for (const auto& [to, from] : truth_) expected += to.first == rank && listed[to.second] == 1;
    std::size_t mine = 0;
    for (const auto& [to, from] : truth_) mine += to.first == rank;
    ASSERT_EQ(expected, mine) << "every block that comes to a rank is listed once";
    ASSERT_EQ(listed.size(), mine);
    for (const failure::part& p : map.outgoing) {
      ASSERT_FALSE(over_) << "rank " << rank << " still has what it has sent";
      ASSERT_NE(p.peer, rank);
      for (count_t k = 0; k < p.length; ++k)
        ASSERT_EQ(block(rank, map, p, k), truth(p.peer, p.offset + k)) << "rank " << rank << " for " << p.peer;
    }
  }

  const block_problem& all_;
  simulated_redistribution run_;
  std::map<place, place> truth_;
  bool over_ = false;
  std::uint64_t whole_ = 0;
  std::uint64_t missing_ = 0;
};

TEST(map_of_a_redistribution, tells_the_truth_wherever_it_is_left) {
  constexpr unsigned each = 12;  // failures of a problem
  const unsigned problems = test::failures_to_try(8400) / each;
  std::uint64_t missing = 0;
  for (unsigned seed = 0; seed < problems && !testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](unsigned least, unsigned most) {
      return least + static_cast<unsigned>(random() % (most - least + 1));
    };
    std::vector<int> sizes(any(2, 8));
    for (int& n : sizes) n = static_cast<int>(any(0, 14));
    const block_problem all = test::random_problem(sizes, static_cast<int>(any(4, 10)) * 10, seed);
    const auto& a = *redistributions()[seed % redistributions().size()];
    const auto& successor = *redistributions()[any(0, static_cast<unsigned>(redistributions().size()) - 1)];
    const slot chunk = any(1, 4);
    const double progress = any(0, 2) == 0 ? 0.5 : 0;
    const auto who = static_cast<readers>(any(0, 2));
    const auto begins = any(0, 3) == 0 ? beginning::pushing : beginning::learning;
    for (unsigned k = 0; k < each; ++k) {
      const bool in_a_call = k % 2 == 1;
      SCOPED_TRACE(testing::Message() << a.name << ", problem " << seed << ", failure " << k);
      const std::uint64_t steps =
          broken_redistribution(a, all, seed, chunk, progress, successor, who, begins).run({.in_a_call = in_a_call});
      if (steps == 0) continue;
      broken_redistribution broken(a, all, seed, chunk, progress, successor, who, begins);
      broken.run({.in_a_call = in_a_call, .after = random() % steps});
      missing += broken.missing();
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(missing, problems);
}

}  // namespace
}  // namespace taquin::detail
