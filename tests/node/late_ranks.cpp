// The channel of a node when ranks are late at every flag: before a line is handed over, between two lines, before a
// line is looked at, before a room is read, before a reader says that it has fetched, and around what both sides do to
// an offer. Each step's data are its own.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "node/channel.hpp"
#include "node/single_copy.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using detail::channel;
using detail::mailbox;
using kind = mailbox::kind;

constexpr std::size_t words = 500;  // of a block in a room, and in the sender's own buffer

std::uint64_t word_of(std::uint64_t step, int from, int to, std::size_t i) {
  return ((step * 1009 + static_cast<std::uint64_t>(from)) * 1009 + static_cast<std::uint64_t>(to)) * 1009 + i;
}

/// One rank's part of a step, which waits at random places.
class late_rank {
 public:
  late_rank(channel& c, std::mt19937& random) : c_(c), random_(random), own_(peers() * words) {}

  void go_through_a_step() {
    c_.begin();
    for (int reader = 0; reader < c_.size(); ++reader) write(reader);
    for (int k = 1; k < c_.size(); ++k) {
      delay();
      c_.publish((c_.rank() + k) % c_.size());
    }
    bool offered = false;
    for (int k = 1; k < c_.size(); ++k) {
      const int writer = (c_.rank() + k) % c_.size();
      delay();
      c_.wait([&] { return c_.has_arrived(writer); });
      delay();
      offered = read(writer) || offered;
    }
    delay();
    if (offered) c_.fetched();
    for (int reader = 0; reader < c_.size(); ++reader)
      if (reader != c_.rank()) let_go(reader);
    std::memset(own_.data(), 0xff, own_.size() * sizeof own_[0]);  // the caller's buffer is the caller's again
  }

 private:
  [[nodiscard]] std::size_t peers() const { return at(c_.size()); }
  void delay() {
    if (random_() % 8 == 0) usleep(static_cast<useconds_t>(random_() % 400));
  }
  [[nodiscard]] kind way_to(int from, int to) const {
    const auto n = (c_.step() + static_cast<std::uint64_t>(3 * from + to)) % 5;
    if (n > 2) return !c_.single_copies() ? kind::none : n == 3 ? kind::remote : kind::offered;
    return n == 0 ? kind::none : n == 1 ? kind::here : kind::payload;
  }
  void write(int reader) {
    if (reader == c_.rank()) return;
    mailbox& box = c_.to(reader);
    const kind way = way_to(c_.rank(), reader);
    const std::size_t n = way == kind::here ? mailbox::capacity / 8 : words;
    box.describe(way, n * 8);
    const auto put = [&](void* to) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t w = word_of(c_.step(), c_.rank(), reader, i);
        std::memcpy(static_cast<std::byte*>(to) + 8 * i, &w, sizeof w);
      }
    };
    box.place = at(reader) * words * 8;
    if (way == kind::here) put(box.data.data());
    if (way == kind::payload) put(c_.payload(c_.rank()) + box.place);
    if (way != kind::remote && way != kind::offered) return;
    box.place = reinterpret_cast<std::uint64_t>(own_.data() + at(reader) * words);
    put(own_.data() + at(reader) * words);
  }
  /// Waits until the block to a reader is not needed any more; takes an offer back at a moment of its own.
  void let_go(int reader) {
    const kind way = way_to(c_.rank(), reader);
    mailbox& box = c_.to(reader);
    if (way == kind::remote) c_.wait([&] { return c_.has_fetched(reader, c_.step()); });
    if (way != kind::offered) return;
    delay();
    if (!box.end_offer(kind::withdrawn)) return c_.wait([&] { return box.what() == kind::taken; });
    delay();
    box.place = at(reader) * words * 8;
    std::memcpy(c_.payload(c_.rank()) + box.place, own_.data() + at(reader) * words, words * 8);
    delay();
    box.become(kind::moved);
  }
  /// True for a block that had to be fetched.
  bool read(int writer) {
    mailbox& box = c_.from(writer);
    const kind way = way_to(writer, c_.rank());
    if (way == kind::offered && !box.end_offer(kind::claimed)) c_.wait([&] { return box.what() == kind::moved; });
    const kind now = box.what();
    EXPECT_TRUE(way == kind::offered ? now == kind::claimed || now == kind::moved : now == way);
    if (now == kind::none) return false;
    std::vector<std::uint64_t> got(box.size() / 8);
    if (now == kind::here) std::memcpy(got.data(), box.data.data(), box.size());
    if (now == kind::payload || now == kind::moved) std::memcpy(got.data(), c_.payload(writer) + box.place, box.size());
    if (now == kind::remote || now == kind::claimed) {
      delay();
      EXPECT_EQ(detail::single_copy(c_.process(writer), box.place, got.data(), box.size()), 0);
      delay();
    }
    if (way == kind::offered) box.become(kind::taken);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], word_of(c_.step(), writer, c_.rank(), i)) << "word " << i << " of rank " << writer;
    return now == kind::remote;
  }

  channel& c_;
  std::mt19937& random_;
  std::vector<std::uint64_t> own_;
};

// Every rank may run on one core alone: a rank that waits must yield it.
TEST(late_ranks, bound_to_one_core_know_that_they_share_it) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int core = 0;
  while (!CPU_ISSET(static_cast<unsigned>(core), &before)) ++core;
  MPI_Bcast(&core, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(core), &one);
  const int bound = sched_setaffinity(0, sizeof one, &one);
  const channel c = channel::make(MPI_COMM_WORLD, 0, true);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  if (c.empty() || bound != 0) GTEST_SKIP() << "ranks share no memory, or may not share a core";
  EXPECT_TRUE(c.oversubscribed());
}

TEST(late_ranks, never_see_another_steps_data) {
  const int p = size_of(MPI_COMM_WORLD);
  channel c = channel::make(MPI_COMM_WORLD, at(p) * words * 8, true);
  if (c.empty()) GTEST_SKIP() << "ranks share no memory here";
  std::mt19937 random(static_cast<unsigned>(rank_in(MPI_COMM_WORLD)) + 1);
  late_rank me(c, random);
  for (int step = 0; step < (brief() ? 20 : 200) && !testing::Test::HasFailure(); ++step) me.go_through_a_step();
  MPI_Barrier(MPI_COMM_WORLD);
}

// One rank is the last at every flag, or ahead of all others.
TEST(late_ranks, may_always_be_the_same) {
  const int p = size_of(MPI_COMM_WORLD);
  channel c = channel::make(MPI_COMM_WORLD, at(p) * words * 8, true);
  if (c.empty()) GTEST_SKIP() << "ranks share no memory here";
  const int rank = rank_in(MPI_COMM_WORLD);
  for (const bool late : {true, false}) {
    std::mt19937 random(1);
    late_rank me(c, random);
    for (int step = 0; step < (brief() ? 10 : 50) && !testing::Test::HasFailure(); ++step) {
      if ((rank == 0) == late) usleep(500);
      me.go_through_a_step();
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace taquin::test
