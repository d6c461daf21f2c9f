// Data that ranks offer, fetch, take back and change: a reader never sees anything but what was offered, and the rank
// learns exactly which parts are gone.
#include "node/offers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "node/channel.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using detail::channel;
using detail::node_offers;

constexpr int junk = -1;

int offered_value(int run, int writer, int reader, count_t unit) {
  return run * 7919 + writer * 1009 + reader * 101 + static_cast<int>(unit);
}

// One rank's part of a run: it offers, fetches in parts of any size, and now and then takes an offer back and writes
// over what it held.
class offering_rank {
 public:
  offering_rank(channel& c, int run, std::mt19937& random)
      : c_(c), run_(run), random_(random), offers_(c, sizeof(int)), mine_(ranks()), left_(ranks()), got_(ranks()) {
    for (int peer = 0; peer < c_.size(); ++peer) {
      auto& data = mine_[at(peer)];
      data.resize(at(length(c_.rank(), peer)));
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = offered_value(run, c_.rank(), peer, static_cast<count_t>(i));
    }
    offers_.begin();
    for (int peer = 0; peer < c_.size(); ++peer)
      if (peer != c_.rank()) offers_.offer(peer, mine_[at(peer)].data(), length(c_.rank(), peer));
    offers_.publish();
    c_.wait([&] { return offers_.all_here(); });
  }

  void go_on() {
    for (int turn = 0; turn < 200; ++turn) {
      const int peer = static_cast<int>(random_() % at(c_.size()));
      if (peer == c_.rank()) continue;
      fetch(peer);
      while (const auto part = offers_.next_fetched()) forget(*part);
      if (random_() % 64 == 0) take_back(peer);
    }
  }

  /// Per reader: how much this rank knows to be gone; per writer: how much it has fetched.
  [[nodiscard]] std::vector<count_t> gone() {
    offers_.end();
    while (const auto part = offers_.next_fetched()) forget(*part);
    return left_;
  }
  [[nodiscard]] const std::vector<count_t>& got() const { return got_; }

 private:
  static std::size_t at(count_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t ranks() const { return at(c_.size()); }
  [[nodiscard]] count_t length(int writer, int reader) const { return 50 + (run_ + 3 * writer + 5 * reader) % 97; }

  void fetch(int writer) {
    const count_t all = length(writer, c_.rank());
    count_t& from = got_[at(writer)];
    const count_t n = std::min<count_t>(all - from, 1 + static_cast<count_t>(random_() % 20));
    if (n == 0) return;
    std::vector<int> into(at(n), junk);
    EXPECT_FALSE(offers_.fetch(writer, from, all + 1, reinterpret_cast<std::byte*>(into.data()), n));
    if (!offers_.fetch(writer, from, all, reinterpret_cast<std::byte*>(into.data()), n)) return;
    for (count_t i = 0; i < n; ++i) ASSERT_EQ(into[at(i)], offered_value(run_, writer, c_.rank(), from + i));
    from += n;
  }

  // Places of fetched data may be overwritten.
  void forget(const node_offers::part& part) {
    EXPECT_EQ(part.offset, left_[at(part.reader)]);
    auto& data = mine_[at(part.reader)];
    std::fill_n(data.begin() + part.offset, part.length, junk);
    left_[at(part.reader)] += part.length;
  }

  void take_back(int reader) {
    if (offers_.withdraw(reader)) std::ranges::fill(mine_[at(reader)], junk);
  }

  channel& c_;
  int run_;
  std::mt19937& random_;
  node_offers offers_;
  std::vector<std::vector<int>> mine_;
  std::vector<count_t> left_;
  std::vector<count_t> got_;
};

TEST(node_offers, are_fetched_as_they_were_made) {
  const int p = size_of(MPI_COMM_WORLD);
  channel c = channel::make(MPI_COMM_WORLD, node_offers::bytes(p), true);
  if (c.empty() || !c.single_copies()) GTEST_SKIP() << "the ranks cannot read each other's memory";
  std::mt19937 random(static_cast<unsigned>(rank_in(MPI_COMM_WORLD)) + 1);
  count_t fetched = 0;
  for (int run = 0; run < 300; ++run) {
    offering_rank rank(c, run, random);
    rank.go_on();
    MPI_Barrier(MPI_COMM_WORLD);
    const std::vector<count_t> gone = rank.gone();
    std::vector<count_t> reported(gone.size());
    MPI_Alltoall(gone.data(), 1, MPI_INT64_T, reported.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    ASSERT_EQ(reported, rank.got());
    for (const count_t n : reported) fetched += n;
  }
  EXPECT_GT(fetched, 0);
}

}  // namespace
}  // namespace taquin::test
