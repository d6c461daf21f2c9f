// MPI_Alltoallv on one buffer, with any counts and displacements on either side.
#pragma once

#include <mpi.h>

#include <span>

#include "taquin/alltoall.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin {

/// Replaces what the send blocks of `buffer` hold by what the ranks send to each other: block i of the receive side
/// gets what rank i sends to this rank. Counts and displacements in elements of `type`, `MPI_Comm_size` of each; the
/// send blocks must not overlap each other, nor the receive blocks each other, but any send block may overlap any
/// receive block. Elements outside all receive blocks keep their values; with `o.in_place.scratch_sends` those in send
/// blocks may hold anything.
///
/// `o.memory` limits all that is taken; unless it is set, that is 1% of the most that any rank sends or receives, at
/// least 64 KiB, and at least four times what the algorithm cannot do without. The type must have the same size on all
/// ranks.
///
/// Blocking, collective; errors as taquin::plan. For nonblocking and persistent use make a taquin::plan of
/// exchange::alltoallv_in_place.
void alltoallv_in_place(void* buffer, const count_t sendcounts[], const count_t sdispls[], const count_t recvcounts[],
                        const count_t rdispls[], MPI_Datatype type, MPI_Comm comm, const options& o = {});

/// The typed form. Throws `usage_error` also when a span of counts or displacements has not one entry per rank or a
/// block ends outside the buffer.
template <class T>
void alltoallv_in_place(std::span<T> buffer, std::span<const count_t> sendcounts, std::span<const count_t> sdispls,
                        std::span<const count_t> recvcounts, std::span<const count_t> rdispls, MPI_Comm comm,
                        const options& o = {}) {
  const auto peers = static_cast<std::size_t>(detail::peers_of(comm));
  auto x =
      exchange::alltoallv_in_place(buffer.data(), count_view(sendcounts.data()), count_view(sdispls.data()),
                                   count_view(recvcounts.data()), count_view(rdispls.data()), datatype_of<T>(), comm);
  for (const auto& span : {sendcounts, sdispls, recvcounts, rdispls})
    if (span.size() != peers) detail::invalid_exchange::set(x, "counts and displacements must have one entry per rank");
  if (detail::invalid_exchange::of(x) == nullptr &&
      !(detail::inside(sendcounts, sdispls, buffer.size()) && detail::inside(recvcounts, rdispls, buffer.size())))
    detail::invalid_exchange::set(x, "a block lies outside the buffer");
  run(x, o);
}

}  // namespace taquin
