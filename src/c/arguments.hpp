// The C API's argument lists as exchanges. Arrays that MPI demands and that are missing become a fault of the exchange,
// which all ranks then see.
#pragma once

#include <mpi.h>

#include "taquin/exchange.hpp"

namespace taquin::detail {

template <class Count, class Displ>
exchange with_arrays(exchange x, bool in_place, const Count* sendcounts, const Displ* sdispls, const Count* recvcounts,
                     const Displ* rdispls) {
  if (recvcounts == nullptr || rdispls == nullptr) x.fault = "null receive counts or displacements";
  if (!in_place && (sendcounts == nullptr || sdispls == nullptr)) x.fault = "null send counts or displacements";
  return x;
}

template <class Count, class Displ>
exchange alltoallv_of(const void* sendbuf, const Count* sendcounts, const Displ* sdispls, MPI_Datatype sendtype,
                      void* recvbuf, const Count* recvcounts, const Displ* rdispls, MPI_Datatype recvtype,
                      MPI_Comm comm) {
  return with_arrays(exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf,
                                         count_view(recvcounts), count_view(rdispls), recvtype, comm),
                     sendbuf == MPI_IN_PLACE, sendcounts, sdispls, recvcounts, rdispls);
}

template <class Count, class Displ>
exchange alltoallw_of(const void* sendbuf, const Count* sendcounts, const Displ* sdispls, const MPI_Datatype* sendtypes,
                      void* recvbuf, const Count* recvcounts, const Displ* rdispls, const MPI_Datatype* recvtypes,
                      MPI_Comm comm) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  exchange x = with_arrays(exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf,
                                               count_view(recvcounts), count_view(rdispls), recvtypes, comm),
                           in_place, sendcounts, sdispls, recvcounts, rdispls);
  if (recvtypes == nullptr || (!in_place && sendtypes == nullptr)) x.fault = "null array of datatypes";
  return x;
}

template <class Count, class Displ>
exchange alltoallv_in_place_of(void* buffer, const Count* sendcounts, const Displ* sdispls, const Count* recvcounts,
                               const Displ* rdispls, MPI_Datatype type, MPI_Comm comm) {
  return with_arrays(exchange::alltoallv_in_place(buffer, count_view(sendcounts), count_view(sdispls),
                                                  count_view(recvcounts), count_view(rdispls), type, comm),
                     false, sendcounts, sdispls, recvcounts, rdispls);
}

}  // namespace taquin::detail
