// All-to-all exchange: MPI's three calls, blocking, typed and untyped. For nonblocking and persistent use make a
// taquin::plan of the same exchange.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "taquin/element_types.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"
#include "taquin/plan.hpp"

namespace taquin {

/// Prepares an exchange and runs it once. Collective. Errors as taquin::plan.
void run(const exchange& x, const options& o = {});

/// MPI_Alltoall with 64-bit counts. Blocking, collective; errors as taquin::plan.
void alltoall(const void* sendbuf, count_t sendcount, MPI_Datatype sendtype, void* recvbuf, count_t recvcount,
              MPI_Datatype recvtype, MPI_Comm comm, const options& o = {});

/// MPI_Alltoallv with 64-bit counts and displacements, `MPI_Comm_size` of each (the remote size on an
/// intercommunicator). Blocking, collective; errors as taquin::plan.
void alltoallv(const void* sendbuf, const count_t sendcounts[], const count_t sdispls[], MPI_Datatype sendtype,
               void* recvbuf, const count_t recvcounts[], const count_t rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
               const options& o = {});

/// MPI_Alltoallw with 64-bit counts and displacements (bytes). Blocking, collective; errors as taquin::plan.
void alltoallw(const void* sendbuf, const count_t sendcounts[], const count_t sdispls[], const MPI_Datatype sendtypes[],
               void* recvbuf, const count_t recvcounts[], const count_t rdispls[], const MPI_Datatype recvtypes[],
               MPI_Comm comm, const options& o = {});

namespace detail {

inline int peers_of(MPI_Comm comm) {
  int peers = 0;
  if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &peers);
  return peers;
}

/// True when every block of one side lies inside `size` elements.
inline bool inside(std::span<const count_t> counts, std::span<const count_t> displs, std::size_t size) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0 && (displs[i] < 0 || displs[i] > static_cast<count_t>(size) - counts[i])) return false;
  return true;
}

}  // namespace detail

/// Typed alltoall: each span holds `MPI_Comm_size` blocks of equal length. Blocking, collective; throws as
/// taquin::plan, and `usage_error` on every rank when a span does not divide into equal blocks.
template <class T>
void alltoall(std::span<const T> send, std::span<T> recv, MPI_Comm comm, const options& o = {}) {
  const auto peers = static_cast<std::size_t>(std::max(detail::peers_of(comm), 1));
  const auto type = datatype_of<T>();
  auto x = exchange::alltoall(send.data(), static_cast<count_t>(send.size() / peers), type, recv.data(),
                              static_cast<count_t>(recv.size() / peers), type, comm);
  if (send.size() % peers != 0 || recv.size() % peers != 0)
    detail::invalid_exchange::set(x, "a span does not divide into one block per rank");
  run(x, o);
}

/// Typed alltoallv; counts and displacements in elements of T, one per rank. Blocking, collective; throws as
/// taquin::plan, and `usage_error` on every rank when a span of counts or displacements has not one entry per rank
/// or a block ends outside its span.
template <class T>
void alltoallv(std::span<const T> send, std::span<const count_t> sendcounts, std::span<const count_t> sdispls,
               std::span<T> recv, std::span<const count_t> recvcounts, std::span<const count_t> rdispls, MPI_Comm comm,
               const options& o = {}) {
  const auto peers = static_cast<std::size_t>(detail::peers_of(comm));
  const auto type = datatype_of<T>();
  auto x = exchange::alltoallv(send.data(), count_view(sendcounts.data()), count_view(sdispls.data()), type,
                               recv.data(), count_view(recvcounts.data()), count_view(rdispls.data()), type, comm);
  for (const auto& span : {sendcounts, sdispls, recvcounts, rdispls})
    if (span.size() != peers) detail::invalid_exchange::set(x, "counts and displacements must have one entry per rank");
  if (detail::invalid_exchange::of(x) == nullptr &&
      !(detail::inside(sendcounts, sdispls, send.size()) && detail::inside(recvcounts, rdispls, recv.size())))
    detail::invalid_exchange::set(x, "a block lies outside its span");
  run(x, o);
}

}  // namespace taquin
