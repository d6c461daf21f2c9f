// Slots for neighbours, made at once: for tests and benchmarks.
#pragma once

#include <mpi.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/nodes/neighbourhood_making.hpp"
#include "base/sizes.hpp"
#include "mpi/communicator.hpp"

namespace taquin::harness {

/// Null where the ranks have none. Collective; not more than 64 times on a communicator.
inline std::shared_ptr<detail::neighbourhood> make_neighbourhood(MPI_Comm comm, std::vector<int> sources,
                                                                 std::vector<int> destinations) {
  mpi::communicator& messages = mpi::communicator::of(comm);
  std::vector<int> places(detail::as_size(messages.size()));
  std::iota(places.begin(), places.end(), 0);
  detail::neighbourhood_making making(messages.rank(), std::move(places), {std::move(sources), std::move(destinations)},
                                      0, false);
  for (making.begin(comm, messages.keep(), messages.next_tag()); !making.over();) making.go_on(comm, 1);
  return making.made();
}

}  // namespace taquin::harness
