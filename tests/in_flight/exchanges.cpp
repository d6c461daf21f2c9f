// Unexpected messages at a late rank, counted between the library and the MPI library.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/environment.hpp"
#include "in_flight/layer.hpp"
#include "redistribute/machine.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using test::plan_if_served;
using test::size_of;

enum class pattern : std::uint8_t { all_to_one, some, dense, one_pair };

// Blocks of words that say where they come from.
class traffic {
 public:
  explicit traffic(pattern what, int most = 600) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    const auto count = [&](int from, int to) {
      if (what == pattern::all_to_one) return to == 0 ? most : 0;
      if (what == pattern::one_pair) return from == 0 && to == 1 ? most : 0;
      const int n = (from * 7 + to * 13) % most + 1;
      return what == pattern::some && (from + 2 * to) % 3 == 0 ? 0 : n;
    };
    for (int i = 0; i < ranks_; ++i) {
      out_.push_back(count(rank_, i));
      in_.push_back(count(i, rank_));
    }
    std::exclusive_scan(out_.begin(), out_.end(), std::back_inserter(out_at_), 0);
    std::exclusive_scan(in_.begin(), in_.end(), std::back_inserter(in_at_), 0);
    send_.resize(static_cast<std::size_t>(out_at_.back() + out_.back()) + 1);
    recv_.resize(static_cast<std::size_t>(in_at_.back() + in_.back()) + 1);
  }
  void fill(int salt) {
    for (int i = 0; i < ranks_; ++i)
      std::fill_n(send_.begin() + out_at_[static_cast<std::size_t>(i)], out_[static_cast<std::size_t>(i)],
                  salt * 10000 + rank_ * 100 + i);
    std::ranges::fill(recv_, -1);
  }
  [[nodiscard]] bool right(int salt) const {
    for (int i = 0; i < ranks_; ++i)
      for (int k = 0; k < in_[static_cast<std::size_t>(i)]; ++k)
        if (recv_[static_cast<std::size_t>(in_at_[static_cast<std::size_t>(i)] + k)] != salt * 10000 + i * 100 + rank_)
          return false;
    return recv_.back() == -1;
  }
  [[nodiscard]] exchange given() {
    return exchange::alltoallv(send_.data(), count_view(out_.data()), count_view(out_at_.data()), MPI_INT, recv_.data(),
                               count_view(in_.data()), count_view(in_at_.data()), MPI_INT, MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0, ranks_ = 1;
  std::vector<int> out_, in_, out_at_, in_at_, send_, recv_;
};

void be_late(int rank, int who, int milliseconds) {
  if (rank == who) usleep(static_cast<unsigned>(milliseconds) * 1000U);
}

class in_flight : public testing::TestWithParam<const detail::algorithm*> {
 protected:
  int rank_ = test::rank_in(MPI_COMM_WORLD);
  int ranks_ = size_of(MPI_COMM_WORLD);
};

// Each start of a plan sends to rank 0, which is late, and waits for nothing.
TEST_P(in_flight, starts_of_a_plan_do_not_flood_a_rank_that_sends_nothing_back) {
  constexpr int most = 6;
  constexpr int starts = 40;
  traffic t(pattern::all_to_one);
  options o{.algorithm = GetParam()->name, .in_flight = most};
  auto p = plan_if_served(t.given(), o);
  if (!p || p->algorithm() == "native") return;
  test::flood::begin();
  for (int i = 0; i < starts; ++i) {
    be_late(rank_, 0, i < 3 ? 60 : 0);
    t.fill(i);
    p->start();
    p->wait();
    ASSERT_TRUE(t.right(i)) << "start " << i;
  }
  const auto seen = test::flood::now();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_LE(seen.unexpected, std::max(most, ranks_ - 1));
  EXPECT_LE(seen.untaken, std::max(most, ranks_ - 1));
  EXPECT_EQ(test::flood::left(), 0);
}

// Each start sends small blocks between all ranks, and a rank that is late finds no more than may be in flight: of
// algorithms with log rounds two starts' messages, without any answer.
TEST_P(in_flight, starts_of_a_plan_among_all_ranks_do_not_flood_a_late_one) {
  constexpr int most = 14;
  constexpr int starts = 40;
  traffic t(pattern::dense, 20);
  options o{.algorithm = GetParam()->name, .in_flight = most};
  auto p = plan_if_served(t.given(), o);
  if (!p || p->algorithm() == "native") return;
  test::flood::begin();
  for (int i = 0; i < starts; ++i) {
    be_late(rank_, i % ranks_, i < 2 * ranks_ ? 20 : 0);
    t.fill(i);
    p->run();
    ASSERT_TRUE(t.right(i)) << "start " << i;
  }
  const auto seen = test::flood::now();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_LE(seen.unexpected, most);
  EXPECT_LE(seen.untaken, most);
}

// With more ranks than may be in flight.
TEST_P(in_flight, no_more_come_unasked_than_the_option_says) {
  constexpr int most = 2;
  if (ranks_ - 1 <= most) return;
  for (const pattern what : {pattern::dense, pattern::some, pattern::all_to_one}) {
    traffic t(what, what == pattern::dense ? 30000 : 600);
    options o{.algorithm = GetParam()->name, .in_flight = most};
    auto p = plan_if_served(t.given(), o);
    if (!p || p->algorithm() == "native") return;
    test::flood::begin();
    for (int i = 0; i < 12; ++i) {
      be_late(rank_, i % ranks_, 10);
      t.fill(i);
      p->run();
      ASSERT_TRUE(t.right(i)) << "start " << i;
      t.fill(i + 1);
      run(t.given(), o);
      ASSERT_TRUE(t.right(i + 1)) << "call " << i;
    }
    const auto seen = test::flood::now();
    const bool direct = p->algorithm() == "spread_out" || p->algorithm() == "pairwise" ||
                        p->algorithm() == "one_factor" || p->algorithm().starts_with("hierarchical_");
    // Blocking calls agree: a header of each other rank. The other algorithms send as many as they have rounds.
    EXPECT_LE(seen.unexpected, direct ? most + ranks_ - 1 : 2 * (ranks_ - 1)) << "pattern " << static_cast<int>(what);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// A rank that sends and receives nothing goes on to a barrier of the MPI library's, in which it does not do its part in
// what the others still wait for.
TEST_P(in_flight, ranks_with_nothing_to_move_let_the_others_go) {
  traffic t(pattern::one_pair);
  options o{.algorithm = GetParam()->name, .in_flight = 1};
  auto p = plan_if_served(t.given(), o);
  if (!p) return;
  for (int i = 0; i < 6; ++i) {
    be_late(rank_, i % ranks_, 10);
    t.fill(i);
    p->run();
    MPI_Barrier(MPI_COMM_WORLD);
    ASSERT_TRUE(t.right(i)) << "start " << i;
    t.fill(i + 1);
    run(t.given(), o);
    MPI_Barrier(MPI_COMM_WORLD);
    ASSERT_TRUE(t.right(i + 1)) << "call " << i;
  }
}

// Blocks of all ranks change their places with each other, by chance, one in eight is dead; every word says where its
// block belongs.
class shuffled {
 public:
  shuffled(int blocks, int words) : blocks_(blocks), words_(words), data_(at(blocks) * at(words)) {
    std::vector<int> all(at(blocks) * at(ranks_));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::shuffle(all, std::mt19937(7));
    for (int k = 0; k < blocks; ++k) {
      const int to = all[at(rank_ * blocks + k)];
      to_rank.push_back(to % 8 == 0 ? -1 : to / blocks);
      to_index.push_back(to % blocks);
    }
  }
  void fill() {
    for (int k = 0; k < blocks_; ++k)
      std::fill_n(data_.begin() + k * words_, words_, to_rank[at(k)] * blocks_ + to_index[at(k)]);
  }
  [[nodiscard]] bool right() const {
    for (std::size_t i = 0; i < data_.size(); ++i)
      if (const int place = rank_ * blocks_ + static_cast<int>(i) / words_; place % 8 != 0 && data_[i] != place)
        return false;
    return true;
  }
  [[nodiscard]] redistribution by(std::string_view algorithm, int in_flight) {
    return {data_.data(), blocks_, words_, MPI_INT, MPI_COMM_WORLD, {.algorithm = algorithm, .in_flight = in_flight}};
  }
  std::vector<int> to_rank, to_index;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int rank_ = test::rank_in(MPI_COMM_WORLD), ranks_ = size_of(MPI_COMM_WORLD);
  int blocks_, words_;
  std::vector<int> data_;
};

class redistribution_in_flight : public testing::TestWithParam<const detail::redistribution_algorithm*> {};

TEST_P(redistribution_in_flight, a_rank_that_is_late_is_not_flooded) {
  constexpr int most = 2;
  const int ranks = size_of(MPI_COMM_WORLD);
  for (const int words : {1, 600}) {
    shuffled s(400, words);
    redistribution r = s.by(GetParam()->name, most);
    test::flood::begin();
    for (int i = 0; i < 6; ++i) {
      s.fill();
      be_late(test::rank_in(MPI_COMM_WORLD), i % ranks, 10);
      r.start(std::span<const int>(s.to_rank), std::span<const int>(s.to_index));
      // It is slow in the middle, too, after any message.
      for (int poll = 0; poll < 30 && !r.test(); ++poll) be_late(test::rank_in(MPI_COMM_WORLD), i % ranks, 1);
      r.wait();
      ASSERT_TRUE(s.right());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const auto seen = test::flood::now();
    const auto left = test::flood::left();
    MPI_Barrier(MPI_COMM_WORLD);  // before anybody goes on
    // Requests and words of the other ranks, and the blocks that this rank has requested. The root of `cyclic` sends
    // each rank one action at a time, a request for an edge, and the end; ranks acknowledge.
    const int bound = GetParam()->name == "cyclic" ? 3 * (ranks - 1) + most : std::max(most, ranks - 1) + most;
    EXPECT_LE(seen.unexpected, bound);
    EXPECT_LE(seen.untaken, bound);
    EXPECT_EQ(left, 0);
  }
}

// Ranks that share memory read blocks from each other's arrays and only notify the owner, which is slow in the middle.
TEST(reading_in_flight, a_slow_owner_has_few_notes_waiting) {
  if (!detail::environment::get().shared_memory) GTEST_SKIP() << "blocks go by messages";
  constexpr int words = 1100;  // more than what goes by messages on a node
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  for (const int most : {1, 2, 7, 32}) {
    shuffled s(2000, words);
    redistribution r = s.by("slots", most);
    test::flood::begin();
    for (int i = 0; i < 3; ++i) {
      s.fill();
      r.start(std::span<const int>(s.to_rank), std::span<const int>(s.to_index));
      while (!r.test()) be_late(rank, 0, 5);
      r.wait();
      ASSERT_TRUE(s.right());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const auto seen = test::flood::now();
    const auto left = test::flood::left();
    MPI_Barrier(MPI_COMM_WORLD);  // before anybody goes on
    // Beside the notes a rank may have one word of each other rank, for the next collective of the protocol.
    const int bound = std::max(most, ranks - 1) + ranks - 1;
    EXPECT_LE(seen.unexpected, bound) << "of at most " << most;
    EXPECT_LE(seen.untaken, bound) << "of at most " << most;
    EXPECT_EQ(left, 0);
  }
}

// Calls that wait find their targets by a sparse exchange, whose own messages are bounded as well: notices, and
// requests for lists of places that are too long for them.
TEST(asking_in_flight, a_rank_that_is_late_is_not_flooded) {
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  for (const int most : {1, 2, 7})
    for (const int blocks : {100, 1500}) {
      shuffled s(blocks, 1);
      redistribution r = s.by("slots", most);
      test::flood::begin();
      for (int i = 0; i < 4; ++i) {
        s.fill();
        be_late(rank, (5 * i) % ranks, 10);
        r(std::span<const int>(s.to_rank), std::span<const int>(s.to_index));
        ASSERT_TRUE(s.right());
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const auto seen = test::flood::now();
      const auto left = test::flood::left();
      MPI_Barrier(MPI_COMM_WORLD);  // before anybody goes on
      // Requests of the other ranks, requested data of this rank, and the messages of an agreement.
      const int agreement = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
      const int bound = std::max(most, ranks - 1) + most + agreement;
      EXPECT_LE(seen.unexpected, bound) << "of at most " << most << " with " << blocks;
      EXPECT_LE(seen.untaken, bound) << "of at most " << most << " with " << blocks;
      EXPECT_EQ(left, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(all, redistribution_in_flight,
                         testing::ValuesIn(detail::redistributions().begin(), detail::redistributions().end()),
                         [](const auto& i) { return std::string(i.param->name); });

// All blocks of rank 1 go to rank 2, and come back from there by way of two others, by another two each time: the root
// of `cyclic` has an action for rank 1 in each of these cycles, and asks it for nothing meanwhile.
struct many_cycles {
  struct move {
    int to, index;
  };
  explicit many_cycles(int ranks) : between(ranks - 2), blocks(share * between * (between - 1) / 2) {}
  [[nodiscard]] std::vector<move> of(int rank) const {
    std::vector<move> all;
    const auto add = [&](int to, int first, int count) {
      for (int k = 0; k < count; ++k) all.push_back({to, first + k});
    };
    const int i = rank == 0 ? 0 : rank - 2;  // among those between
    if (rank == 1) add(2, 0, blocks);
    for (int j = 0; rank == 2 && j < between; ++j) add(rank_of(j), 0, (between - 1 - j) * share);
    if (rank != 1 && rank != 2) {
      for (int j = i + 1; j < between; ++j) add(rank_of(j), (between - 1 - j + i) * share, share);
      add(1, i * (i - 1) / 2 * share, i * share);
    }
    for (int k = static_cast<int>(all.size()); k < blocks; ++k) all.push_back({rank, k});
    return all;
  }
  static int rank_of(int i) { return i == 0 ? 0 : i + 2; }
  static constexpr int share = 2;
  int between, blocks;
};

TEST(cyclic_in_flight, a_slow_rank_has_few_actions_waiting) {
  constexpr int most = 2;
  const int rank = test::rank_in(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  if (ranks < 7) GTEST_SKIP() << "too few cycles";
  const many_cycles problem(ranks);
  std::vector<int> data(static_cast<std::size_t>(problem.blocks));
  std::iota(data.begin(), data.end(), 1000 * rank);
  std::vector<int> to;
  std::vector<int> index;
  for (const auto& m : problem.of(rank)) {
    to.push_back(m.to);
    index.push_back(m.index);
  }
  redistribution r(data.data(), problem.blocks, 1, MPI_INT, MPI_COMM_WORLD, {.algorithm = "cyclic", .in_flight = most});
  test::flood::begin();
  r.start(std::span<const int>(to), std::span<const int>(index));
  for (int poll = 0; poll < 60 && !r.test(); ++poll) be_late(rank, 1, 3);
  r.wait();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    EXPECT_LE(test::flood::now().unexpected, ranks - 1 + most);
  }
  for (int from = 0; from < ranks; ++from) {
    const auto moves = problem.of(from);
    for (std::size_t k = 0; k < moves.size(); ++k)
      if (moves[k].to == rank) {
        EXPECT_EQ(data[static_cast<std::size_t>(moves[k].index)], 1000 * from + static_cast<int>(k));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(all, in_flight, testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         test::algorithm_test_name);

}  // namespace
}  // namespace taquin
