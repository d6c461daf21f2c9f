// Schedules evaluated under a model, event by event.
#include "simulation/evaluate.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "model/some_model.hpp"
#include "simulation/runner.hpp"

namespace taquin::detail {
namespace {

/// One rank's schedule, of messages of a byte unless more is said.
class writer {
 public:
  writer() { s_.add_type(element::bytes(1)); }
  writer& send(int peer, count_t bytes = 1) { return s_.send(peer, {0, bytes, 0, 1, 0, place::send}), *this; }
  writer& recv(int peer, count_t bytes = 1) { return s_.recv(peer, {0, bytes, 0, 1, 0, place::recv}), *this; }
  writer& lane(int k) { return s_.begin_lane(k), *this; }
  writer& then() { return s_.then(), *this; }
  writer& end(std::uint32_t in_flight = 0) { return s_.end_round(in_flight), *this; }
  writer& end_lanes(int lanes) { return s_.end_lanes(lanes), *this; }
  writer& await(int times) { return s_.await(times), *this; }
  writer& arrive() { return s_.arrive(), *this; }
  writer& join() { return s_.join(), *this; }
  writer& copy(count_t bytes) {
    s_.add_copy({0, bytes, 0, 1, 0, place::send}, {0, bytes, 0, 1, 0, place::recv});
    return *this;
  }
  [[nodiscard]] const schedule* get() const { return &s_; }

 private:
  schedule s_{std::pmr::new_delete_resource()};
};

TEST(evaluate, a_limit_in_flight_goes_on_with_whatever_completes_first) {
  // Rank 0 expects a long message from 1 and a short one from 2, and sends to 3 as soon as one of them is there.
  const auto m = model_of(model_kind::hockney);
  const writer waits = writer().recv(1, 1000000).recv(2).send(3).end(2);
  const writer slow = writer().send(0, 1000000).end();
  const writer quick = writer().send(0).end();
  const writer last = writer().recv(0).end();
  const std::vector<const schedule*> all{waits.get(), slow.get(), quick.get(), last.get()};
  auto two_ports = m;
  two_ports.ports = 2;
  const auto ends = evaluate(all, two_ports);
  EXPECT_NEAR(ends[3], 2 * m.levels[0].hockney.time(1), 1e-12);
  EXPECT_NEAR(ends[0], m.levels[0].hockney.time(1000000), 1e-12);
}

TEST(evaluate, lanes_go_on_independently_and_stages_of_a_lane_do_not) {
  auto m = model_of(model_kind::hockney);
  m.ports = 2;
  const seconds one = m.levels[0].hockney.time(1);
  const seconds ten = m.levels[0].hockney.time(10000);
  // Rank 0: a long send and then a short one in lane 0; two short ones in lane 1.
  const writer lanes = writer().lane(0).send(1, 10000).then().send(2).lane(1).send(3).then().send(4).end_lanes(2);
  const writer from_zero = writer().lane(0).recv(0, 10000).end_lanes(1);
  const writer after_long = writer().lane(0).recv(0).end_lanes(1);
  const writer first = writer().lane(0).lane(1).recv(0).end_lanes(2);
  const std::vector<const schedule*> all{lanes.get(), from_zero.get(), after_long.get(), first.get(), first.get()};
  const auto ends = evaluate(all, m);
  EXPECT_NEAR(ends[1], ten, 1e-12);
  EXPECT_NEAR(ends[2], ten + one, 1e-12) << "waits for the long one";
  EXPECT_NEAR(ends[3], one, 1e-12);
  EXPECT_NEAR(ends[4], 2 * one, 1e-12) << "does not";
}

TEST(evaluate, a_round_waits_until_the_ranks_of_its_node_have_arrived) {
  auto m = model_of(model_kind::hockney);
  m.copy = {0, 1e-9};
  m.wait = 1e-3;
  // Ranks 0 and 1 share a node, 2 and 3 another one: one of each copies for long before it arrives.
  const writer slow = writer().copy(5000000).arrive().await(1).copy(1000000).end();
  const writer quick = writer().copy(1000000).arrive().await(1).copy(1000000).end();
  const writer alone = writer().copy(2000000).arrive().await(1).copy(1000000).end();
  const std::vector<const schedule*> all{slow.get(), quick.get(), alone.get(), alone.get()};
  const auto ends = evaluate(all, m, std::vector{0, 0, 1, 1});
  EXPECT_NEAR(ends[0], 5e-3 + m.wait + 1e-3, 1e-9);
  EXPECT_NEAR(ends[1], ends[0], 1e-9) << "had to wait for rank 0";
  EXPECT_NEAR(ends[2], 2e-3 + m.wait + 1e-3, 1e-9) << "is on another node";
  EXPECT_NEAR(ends[3], ends[2], 1e-9);
}

TEST(evaluate, arrivals_are_counted_one_by_one) {
  auto m = model_of(model_kind::hockney);
  m.copy = {0, 1e-9};
  // Rank 1 arrives twice before rank 0 has arrived once, and waits for both times.
  const writer slow = writer().copy(3000000).arrive().copy(4000000).arrive();
  const writer quick = writer().arrive().arrive().await(1).copy(1000000).end().await(2).copy(1000000).end();
  const std::vector<const schedule*> all{slow.get(), quick.get()};
  const auto ends = evaluate(all, m);
  EXPECT_NEAR(ends[0], 7e-3, 1e-9);
  EXPECT_NEAR(ends[1], 8e-3, 1e-9);
  const writer once = writer().copy(3000000).arrive();
  EXPECT_THROW(evaluate(std::vector<const schedule*>{once.get(), quick.get()}, m), simulated_error);
}

TEST(evaluate, messages_of_a_joined_round_travel_while_the_node_is_waited_for) {
  auto m = model_of(model_kind::hockney);
  m.copy = {0, 1e-9};
  const seconds ten = m.levels[0].hockney.time(10000000);
  // Rank 0 posts its receive, waits for rank 2 of its node, and completes the receive with the next round.
  const writer joined = writer().recv(1, 10000000).join().arrive().await(1).copy(1000000).end();
  const writer sender = writer().send(0, 10000000).end();
  const writer slow = writer().copy(6000000).arrive();
  const std::vector<const schedule*> all{joined.get(), sender.get(), slow.get()};
  const auto ends = evaluate(all, m, std::vector{0, 1, 0});
  EXPECT_NEAR(ends[0], ten, 1e-9) << "the message was on its way from the start";
}

TEST(evaluate, a_deadlock_is_an_error) {
  schedule s(std::pmr::new_delete_resource());
  s.add_type(element::bytes(1));
  s.recv(0, {0, 1, 0, 1, 0, place::recv});
  s.end_round();
  const std::vector<const schedule*> pointers{&s};
  EXPECT_THROW(evaluate_slowest(pointers, model_of(model_kind::loggp)), simulated_error);
}

}  // namespace
}  // namespace taquin::detail
