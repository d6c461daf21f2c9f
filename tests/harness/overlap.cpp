// Calls in flight together: which are timed together, and in which order they begin and end.
#include "harness/overlap.hpp"

#include <gtest/gtest.h>

#include <string>

namespace taquin::harness {
namespace {

using workloads::call_form;

problem call(int in_flight, std::uint64_t repeats, call_form form = call_form::nonblocking) {
  return {MPI_COMM_SELF, exchange::form::alltoallv, buffering::separate, {8}, {8}, repeats, {form, in_flight}};
}

TEST(overlap, a_call_with_none_in_flight_begins_a_section) {
  std::vector<problem> calls;
  for (const int in_flight : {0, 1, 1, 0, 0, 2}) calls.push_back(call(in_flight, 1));
  const auto sections = sections_of(calls);
  ASSERT_EQ(sections.size(), 3U);
  EXPECT_EQ(sections[0].end, 3U);
  EXPECT_TRUE(sections[0].overlaps);
  EXPECT_EQ(sections[1].end, 4U);
  EXPECT_FALSE(sections[1].overlaps);
  EXPECT_EQ(sections[2].end, 6U);
}

TEST(overlap, each_call_in_flight_has_memory_of_its_own) {
  std::vector<problem> calls{call(0, 5), call(2, 2), call(3, 9), call(0, 7)};
  arenas memory(std::pmr::new_delete_resource(), calls);
  EXPECT_EQ(memory.slots(0), 1U);
  EXPECT_EQ(memory.slots(1), 2U) << "as many as there are calls";
  EXPECT_EQ(memory.slots(2), 4U);
  EXPECT_EQ(memory.slots(3), 1U);
  EXPECT_NE(&memory.at(1, 0), &memory.at(1, 1));
  EXPECT_NE(&memory.at(0, 0), &memory.at(3, 0));
}

TEST(overlap, the_oldest_end_before_more_begin_than_were_in_flight) {
  std::vector<problem> calls{call(0, 1), call(1, 3), call(1, 1, call_form::blocking), call(0, 1)};
  std::string order;
  std::vector<std::vector<operation>> slots;
  for (const char name : {'a', 'b', 'c'}) {
    slots.emplace_back();
    const std::size_t copies = name == 'b' ? 2 : 1;
    for (std::size_t k = 0; k < copies; ++k) {
      operation o{[&order, name] { order += name; }, {}};
      if (name != 'c') o.end = [&order, name] { order += static_cast<char>(name - 'a' + 'A'); };
      slots.back().push_back(o);
    }
  }
  execute(calls, sections_of(calls).front(), slots);
  EXPECT_EQ(order, "abAbBbBcB");
}

}  // namespace
}  // namespace taquin::harness
