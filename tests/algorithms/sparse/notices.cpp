// The notices of all ranks in one process, against what everybody has for everybody.
#include "algorithms/sparse/notices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace taquin::detail {
namespace {

std::deque<notice_rounds> ranks_with(const std::vector<std::vector<notice>>& sent) {
  std::deque<notice_rounds> ranks;
  const int p = static_cast<int>(sent.size());
  for (int r = 0; r < p; ++r) {
    ranks.emplace_back(r, p, std::pmr::new_delete_resource());
    for (const notice& n : sent[static_cast<std::size_t>(r)]) ranks.back().add(n);
  }
  return ranks;
}

void run(std::deque<notice_rounds>& ranks) {
  const int p = static_cast<int>(ranks.size());
  for (int k = 0; k < notice_rounds::rounds(p); ++k) {
    std::vector<std::vector<notice>> messages;
    for (notice_rounds& r : ranks) {
      const auto out = r.leave(k);
      messages.emplace_back(out.begin(), out.end());
    }
    for (int r = 0; r < p; ++r) {
      notice_rounds& sender = ranks[static_cast<std::size_t>(r)];
      const int to = sender.receiver(k);
      ASSERT_EQ(ranks[static_cast<std::size_t>(to)].sender(k), r);
      ranks[static_cast<std::size_t>(to)].add(messages[static_cast<std::size_t>(r)]);
    }
  }
}

RC_GTEST_PROP(sparse_notices, come_to_their_destinations_in_order, ()) {
  const int p = *rc::gen::inRange(1, 40);
  std::vector<std::vector<notice>> sent(static_cast<std::size_t>(p));
  for (int r = 0; r < p; ++r) {
    const auto to = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, p));
    count_t first = 0;
    for (const int d : to) {
      const auto n = *rc::gen::inRange<count_t>(0, 4);
      sent[static_cast<std::size_t>(r)].push_back({r, d, n, first});
      first += n;
    }
  }
  auto ranks = ranks_with(sent);
  run(ranks);
  for (int d = 0; d < p; ++d) {
    std::vector<notice> expected;
    for (const auto& of_rank : sent)
      std::ranges::copy_if(of_rank, std::back_inserter(expected), [&](const notice& n) { return n.to == d; });
    const auto got = ranks[static_cast<std::size_t>(d)].sorted();
    RC_ASSERT(std::vector<notice>(got.begin(), got.end()) == expected);
  }
}

TEST(sparse_notices, go_to_rank_0_from_all_of_many) {
  constexpr int p = 1000;
  std::vector<std::vector<notice>> sent(p);
  for (int r = 0; r < p; ++r) sent[static_cast<std::size_t>(r)].push_back({r, 0, 1, 0});
  auto ranks = ranks_with(sent);
  run(ranks);
  EXPECT_EQ(ranks.front().sorted().size(), 1000U);
  for (std::size_t r = 1; r < p; ++r) EXPECT_EQ(ranks[r].sorted().size(), 0U);
}

}  // namespace
}  // namespace taquin::detail
