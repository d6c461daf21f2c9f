// When a port says that nothing happens: once for each time without news.
#include <gtest/gtest.h>

#include <array>
#include <memory_resource>

#include "mpi/communicator.hpp"
#include "protocol/mpi_port.hpp"
#include "protocol/task.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using detail::event;

constexpr int times = 3;

struct listener {
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  int heard = 0;
};

// A message after each `quiet`.
detail::task hear_of_quiet_times(listener& of, detail::port& net) {
  for (int& heard = of.heard; heard < times; ++heard) {
    const event idle = co_await net.next();
    EXPECT_EQ(idle.what, event::kind::quiet);
    net.post(0, std::array<detail::word, 1>{static_cast<detail::word>(heard)});
    const event news = co_await net.next();
    EXPECT_EQ(news.what, event::kind::message);
  }
}

TEST(an_idle_port, is_quiet_again_after_news) {
  constexpr int most_tests = 100000;
  const scoped_comm self(duplicate(MPI_COMM_SELF));
  auto& comm = mpi::communicator::get_or_create(self.get());
  listener all;
  std::array<int, 4> data{};
  detail::store units(reinterpret_cast<std::byte*>(data.data()), 4, 1, element::bytes(4), 0, all.memory, false);
  detail::mpi_port net(comm, comm.next_tag(), units, {.idle_threshold = 0}, all.memory);
  net.begin_run();
  detail::task t = hear_of_quiet_times(all, net);
  t.start();
  for (int i = 0; i < most_tests && !net.test(t); ++i) continue;
  EXPECT_EQ(all.heard, times);
}

}  // namespace
}  // namespace taquin::test
