// How long ranks poll before they yield, where the launcher does not report how many there are on this machine.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>

#include "mpi/backoff.hpp"
#include "support/world.hpp"

namespace taquin::mpi {
namespace {

TEST(waiting_ranks, yield_at_once_if_they_may_be_more_than_processors) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) unsetenv(name);
  EXPECT_EQ(polls_before_yielding() == 0, test::size_of(MPI_COMM_WORLD) > sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace
}  // namespace taquin::mpi
