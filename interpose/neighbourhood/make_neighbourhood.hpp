// Slots for neighbours, made immediately: for tests and benchmarks.
#pragma once

#include <mpi.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "interpose/neighbourhood/neighbourhood_making.hpp"
#include "mpi/communicator.hpp"

namespace taquin::interpose {

/// `here`: the ranks that share memory with this one, as if those of each node did. Null where the ranks have none.
/// Collective; not more than 64 times on a communicator.
inline std::shared_ptr<neighbourhood> make_neighbourhood(MPI_Comm comm, std::vector<int> sources,
                                                         std::vector<int> destinations, std::vector<int> here) {
  mpi::communicator& messages = mpi::communicator::get_or_create(comm);
  std::vector<int> places(detail::as_size(messages.size()));
  std::iota(places.begin(), places.end(), 0);
  neighbourhood_making making({.rank = messages.rank(),
                               .places = std::move(places),
                               .here = std::move(here),
                               .edges = {std::move(sources), std::move(destinations)}});
  making.begin(comm, messages.keep(), messages.next_tag());
  return making.finish(comm, 1);
}

}  // namespace taquin::interpose
