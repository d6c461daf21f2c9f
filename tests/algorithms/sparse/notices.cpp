// The notices of all ranks in one process, against what everybody has for everybody.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "algorithms/sparse/headers.hpp"
#include "algorithms/sparse/router.hpp"

namespace taquin::detail {
namespace {

// The blocks that a rank sends, in elements of 4 bytes.
struct blocks {
  std::vector<int> to;
  std::vector<count_t> counts;
  std::vector<std::int32_t> data;
  sparse_data mine;

  void add(int rank, int destination, count_t n) {
    to.push_back(destination);
    counts.push_back(n);
    for (count_t i = 0; i < n; ++i) data.push_back(rank * 1000 + static_cast<int>(data.size()));
  }
  own_headers reported(int rank, std::size_t piggybacked) {
    mine.at = reinterpret_cast<const std::byte*>(data.data());
    mine.element.size = mine.element.extent = mine.element.true_extent = 4;
    return {rank, to, count_view(counts.data()), mine, piggybacked};
  }
};

struct rank_of_many {
  own_headers own;
  header_store arrived;
  header_router router;
  bool sent_late = false;
  std::deque<int> waits;  // channels whose message has not been taken

  rank_of_many(blocks& b, int rank, int ranks, int radix, std::size_t message, std::size_t piggybacked)
      : own(b.reported(rank, piggybacked)),
        arrived(std::pmr::new_delete_resource()),
        router(rank, ranks, radix, message, own, 4, std::pmr::new_delete_resource()) {}
};

struct network {
  struct message {
    int from;
    std::size_t channel;
    bool followed;
    std::vector<std::byte> bytes;
  };
  std::deque<rank_of_many> ranks;
  std::vector<std::vector<std::deque<message>>> queues;  // by receiver and class
  std::size_t most_waiting = 0;
  std::size_t messages = 0;

  network(std::vector<blocks>& all, int radix, std::size_t message_bytes, std::size_t piggybacked) {
    const int p = static_cast<int>(all.size());
    for (int r = 0; r < p; ++r)
      ranks.emplace_back(all[static_cast<std::size_t>(r)], r, p, radix, message_bytes, piggybacked);
    queues.resize(ranks.size(),
                  std::vector<std::deque<message>>(static_cast<std::size_t>(header_router::classes(p, radix))));
  }

  // One rank does what it can. True: it did something.
  bool turn(int r) {
    rank_of_many& me = ranks[static_cast<std::size_t>(r)];
    bool news = false;
    me.router.advance([&](std::span<const std::byte> one) { me.arrived.add(one); });
    for (std::size_t c = 0; c < me.router.outgoing(); ++c) {
      if (!me.router.ready(c)) continue;
      const auto what = me.router.begin(c);
      const auto to = static_cast<std::size_t>(me.router.receiver(c));
      const bool followed = me.router.followed(c);
      queues[to][static_cast<std::size_t>(me.router.class_of(c))].push_back(
          {r, c, followed, {what.begin(), what.end()}});
      if (!followed) me.router.sent(c);  // the MPI library keeps it
      std::size_t waiting = 0;
      for (const auto& q : queues[to]) waiting += q.size();
      most_waiting = std::max(most_waiting, waiting);
      ++messages;
      news = true;
    }
    for (std::size_t k = 0; k < me.router.incoming(); ++k) {
      auto& queue = queues[static_cast<std::size_t>(r)][k];
      if (queue.empty() || !me.router.wants(k)) continue;
      const message m = queue.front();
      queue.pop_front();
      std::ranges::copy(m.bytes, me.router.buffer(k).begin());
      me.router.arrived(k, m.bytes.size());
      if (m.followed) ranks[static_cast<std::size_t>(m.from)].router.sent(m.channel);
      news = true;
    }
    return news;
  }

  // In any order. False: no rank can continue.
  bool run(std::uint32_t seed) {
    std::minstd_rand random(seed + 1);
    std::vector<int> order(ranks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const auto done = [&] { return std::ranges::all_of(ranks, [](const rank_of_many& r) { return r.router.done(); }); };
    while (!done()) {
      std::ranges::shuffle(order, random);
      bool news = false;
      for (const int r : order) news = turn(r) || news;
      if (!news && !done()) return false;
    }
    return true;
  }
};

void expect_all(std::vector<blocks>& all, network& n, std::size_t piggybacked) {
  for (std::size_t d = 0; d < all.size(); ++d) {
    header_store& arrived = n.ranks[d].arrived;
    const auto got = arrived.sorted(4);
    std::size_t i = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
      std::vector<header> expected;
      count_t first = 0;
      for (std::size_t b = 0; b < all[r].to.size(); first += all[r].counts[b], ++b)
        if (all[r].to[b] == static_cast<int>(d))
          expected.push_back({static_cast<int>(r), static_cast<int>(d), all[r].counts[b], first});
      std::ranges::stable_sort(expected, {}, [](const header& x) { return std::pair(x.first, x.count); });
      for (const header& e : expected) {
        RC_ASSERT(i < got.size());
        const header& g = got[i++];
        RC_ASSERT(g.from == e.from && g.count == e.count && g.first == e.first);
        RC_ASSERT(g.has_arrived() == (e.count > 0 && static_cast<std::size_t>(e.count) * 4 <= piggybacked));
        if (g.has_arrived())
          RC_ASSERT(std::memcmp(arrived.data(g), all[r].data.data() + e.first, static_cast<std::size_t>(e.count) * 4) ==
                    0);
      }
    }
    RC_ASSERT(i == got.size());
  }
}

RC_GTEST_PROP(sparse_notices, come_to_their_destinations_in_order, ()) {
  const int p = *rc::gen::inRange(1, 70);
  const int radix = *rc::gen::inRange(2, 10);
  const auto message = *rc::gen::element<std::size_t>(64, 128, 4096);
  const std::size_t piggybacked = *rc::gen::arbitrary<bool>() ? message / 4 : 0;
  const bool to_one = *rc::gen::arbitrary<bool>();
  std::vector<blocks> all(static_cast<std::size_t>(p));
  for (int r = 0; r < p; ++r)
    for (const int d : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, p)))
      all[static_cast<std::size_t>(r)].add(r, to_one ? 0 : d, *rc::gen::inRange<count_t>(0, 9));
  network n(all, radix, message, piggybacked);
  RC_ASSERT(n.run(*rc::gen::arbitrary<std::uint32_t>()));
  RC_ASSERT(n.most_waiting <= static_cast<std::size_t>(header_router::channels(p, radix)));
  expect_all(all, n, piggybacked);
}

// A rank that others go by holds a message of each channel, and nothing that grows with what passes through it.
TEST(sparse_notices, go_to_rank_0_from_all_of_many_in_memory_that_does_not_grow) {
  constexpr int p = 1000;
  for (const int radix : {2, 8, 32}) {
    std::vector<blocks> all(p);
    for (int r = 0; r < p; ++r)
      for (int i = 0; i < 5; ++i) all[static_cast<std::size_t>(r)].add(r, 0, 1);
    network n(all, radix, 256, 64);
    ASSERT_TRUE(n.run(7));
    EXPECT_LE(n.most_waiting, static_cast<std::size_t>(header_router::channels(p, radix)));
    EXPECT_EQ(n.ranks.front().arrived.sorted(4).size(), 5U * p);
    for (std::size_t r = 1; r < p; ++r) EXPECT_EQ(n.ranks[r].arrived.sorted(4).size(), 0U);
  }
}

TEST(sparse_notices, few_take_one_message_of_each_channel) {
  constexpr int p = 64;
  std::vector<blocks> all(p);
  for (int r = 0; r < p; ++r)
    for (const int step : {1, 5, 17, 40}) all[static_cast<std::size_t>(r)].add(r, (r + step) % p, 2);
  network n(all, 8, 4096, 1024);
  ASSERT_TRUE(n.run(3));
  EXPECT_EQ(n.messages, static_cast<std::size_t>(p * header_router::channels(p, 8)));
}

// Of the ranks and of what may be on its way.
TEST(sparse_notices, radix_bounds_the_channels) {
  for (const int p : {2, 3, 8, 64, 1000, 4096, 1 << 20})
    for (const std::size_t in_flight : {1U, 4U, 32U}) {
      const int radix = header_router::radix_for(p, 1024, in_flight);
      EXPECT_TRUE(radix == 2 || static_cast<std::size_t>(header_router::channels(p, radix)) <= in_flight);
      EXPECT_LE(header_router::classes(p, radix), 20);
      EXPECT_LT(header_router::footprint(p, radix, 4096), 300000U);
    }
}

}  // namespace
}  // namespace taquin::detail
