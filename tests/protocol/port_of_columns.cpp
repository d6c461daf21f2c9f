// Transfers of units with parts in several arrays: a message that is shorter than its receive has the parts of each
// array in their places.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "mpi/communicator.hpp"
#include "protocol/mpi_port.hpp"
#include "protocol/task.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

using detail::event;
using detail::store;
using detail::task;
using detail::unit_column;
using detail::unit_run;

/// Ten units with an int and two chars each, in two arrays, and four of staging.
struct columns {
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  std::vector<int> ints;
  std::vector<std::array<char, 2>> chars;
  std::array<unit_column, 2> both;
  store units;

  explicit columns(int first)
      : ints(10),
        chars(10),
        both{{{reinterpret_cast<std::byte*>(ints.data()), 4, 0}, {reinterpret_cast<std::byte*>(chars.data()), 2, 4}}},
        units(nullptr, 10, 1, element::bytes(6), 4, memory, false, both) {
    std::iota(ints.begin(), ints.end(), first);
    for (std::size_t k = 0; k < 10; ++k) chars[k] = {static_cast<char>(ints[k]), static_cast<char>(ints[k] + 1)};
  }
};

task send_three(columns& c, detail::port& net, int to) {
  c.units.copy(4, 10, 3);
  net.send(to, unit_run{10, 3}, 1);
  net.send(to, unit_run{7, 2}, 2);
  for (int sent = 0; sent < 2; ++sent) {
    const event e = co_await net.next_transfer();
    EXPECT_EQ(e.what, event::kind::sent);
  }
}

task receive_five(columns& c, detail::port& net, int from) {
  net.receive(from, unit_run{2, 5}, 3);
  const event in_place = co_await net.next_transfer();
  EXPECT_EQ(in_place.units.at, 2);
  EXPECT_EQ(in_place.units.length, 3);
  net.receive(from, unit_run{10, 4}, 4);
  const event in_staging = co_await net.next_transfer();
  EXPECT_EQ(in_staging.units.length, 2);
  c.units.copy(10, 0, 2);
}

TEST(a_port_of_columns, receives_fewer_units_than_there_is_room_for) {
  const scoped_comm world(duplicate(MPI_COMM_WORLD));
  auto& comm = mpi::communicator::get_or_create(world.get());
  const int rank = comm.rank();
  columns c(rank == 0 ? 20 : 60);
  detail::mpi_port net(comm, comm.next_tag(), c.units, {.scattered = 2, .transfers = 4}, c.memory);
  net.begin_run();
  net.let_arrive(detail::rank_group::none());  // all receives early, were it not for the columns
  task t = rank == 0 ? send_three(c, net, 1) : receive_five(c, net, 0);
  t.start();
  net.wait(t);
  if (rank == 0) return;
  EXPECT_EQ(c.ints, (std::vector{27, 28, 24, 25, 26, 65, 66, 67, 68, 69}));
  for (std::size_t k = 0; k < 10; ++k)
    EXPECT_EQ(c.chars[k], (std::array{static_cast<char>(c.ints[k]), static_cast<char>(c.ints[k] + 1)})) << k;
}

}  // namespace
}  // namespace taquin::test
