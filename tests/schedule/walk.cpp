// The order in which messages of a schedule may be posted.
#include "schedule/walk.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace taquin::detail {
namespace {

class a_walk : public testing::Test {
 protected:
  a_walk() { s_.add_type(element::bytes(1)); }
  void send(int n) {
    for (int i = 0; i < n; ++i) s_.send(1, {0, 1, 0, 1, 0, place::send});
  }
  /// The messages that lane k of `w` posts now.
  static std::vector<std::uint32_t> posted(walk& w, std::size_t k = 0) {
    std::vector<std::uint32_t> all;
    w.post(k, [&](std::uint32_t i) { all.push_back(i); });
    return all;
  }
  using messages = std::vector<std::uint32_t>;

  schedule s_{std::pmr::new_delete_resource()};
};

TEST_F(a_walk, keeps_as_many_in_flight_as_the_round_allows) {
  send(4);
  s_.end_round(2);
  walk w(s_);
  EXPECT_FALSE(w.entered());
  w.enter();
  EXPECT_EQ(w.requests(), 2U);
  EXPECT_EQ(posted(w), (messages{0, 1}));
  EXPECT_EQ(posted(w), messages{});
  w.complete(0);
  EXPECT_EQ(posted(w), messages{2});
  w.complete_all();
  EXPECT_FALSE(w.done());
  EXPECT_EQ(posted(w), messages{3});
  w.complete(0);
  EXPECT_TRUE(w.done());
  w.leave();
  EXPECT_TRUE(w.at_end());
}

TEST_F(a_walk, posts_the_stages_of_each_lane_in_turn) {
  s_.begin_lane(0);
  send(2);
  s_.then();
  send(3);
  s_.begin_lane(1);
  send(1);
  s_.then();
  send(1);
  s_.end_lanes(2);
  walk w(s_);
  w.enter();
  ASSERT_EQ(w.lanes(), 2U);
  EXPECT_EQ(w.requests(), 4U) << "the widest stage of each";
  EXPECT_EQ(w.at(1).first_request, 3U);
  EXPECT_EQ(posted(w, 0), (messages{0, 1}));
  EXPECT_EQ(posted(w, 1), messages{5});
  w.complete(1);
  EXPECT_EQ(posted(w, 1), messages{6}) << "does not wait for the other lane";
  w.complete(0);
  EXPECT_EQ(posted(w, 0), messages{}) << "one of its stage is in flight";
  w.complete(0);
  EXPECT_EQ(posted(w, 0), (messages{2, 3, 4}));
}

TEST_F(a_walk, completes_the_messages_of_a_joined_round_with_those_of_the_next) {
  send(2);
  s_.join();
  s_.end_round();
  send(3);
  s_.end_round(1);
  walk w(s_);
  w.enter();
  EXPECT_EQ(posted(w), (messages{0, 1}));
  EXPECT_TRUE(w.done());
  w.leave();
  w.enter();
  EXPECT_EQ(w.requests(), 3U);
  EXPECT_EQ(w.at(0).first_request, 2U);
  EXPECT_EQ(posted(w), messages{2});
  w.complete(0);
  EXPECT_EQ(posted(w), messages{3});
  w.complete_all();
  EXPECT_EQ(posted(w).size(), 1U);
  w.complete_all();
  EXPECT_TRUE(w.done());
}

}  // namespace
}  // namespace taquin::detail
