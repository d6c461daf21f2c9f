// The argument lists of the exchanges, once: the C API's blocking calls and plans are made of them.
#pragma once

#include <mpi.h>

#include "taquin/exchange.hpp"

// TAQUIN_PARAMETERS_FORM: as MPI has them, for one width of counts and displacements.
#define TAQUIN_PARAMETERS_alltoall(COUNT, DISPL)                                                                      \
  const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, \
      MPI_Comm comm
#define TAQUIN_PARAMETERS_alltoallv(COUNT, DISPL)                                                             \
  const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], MPI_Datatype sendtype, void *recvbuf, \
      const COUNT recvcounts[], const DISPL rdispls[], MPI_Datatype recvtype, MPI_Comm comm
#define TAQUIN_PARAMETERS_alltoallw(COUNT, DISPL)                                                                      \
  const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
      const COUNT recvcounts[], const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define TAQUIN_PARAMETERS_alltoallv_in_place(COUNT, DISPL)                                                        \
  void *buffer, const COUNT sendcounts[], const DISPL sdispls[], const COUNT recvcounts[], const DISPL rdispls[], \
      MPI_Datatype type, MPI_Comm comm

// TAQUIN_EXCHANGE_FORM: the exchange of these parameters.
#define TAQUIN_EXCHANGE_alltoall \
  taquin::exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
#define TAQUIN_EXCHANGE_alltoallv                                                                                      \
  taquin::exchange::alltoallv(sendbuf, taquin::count_view(sendcounts), taquin::count_view(sdispls), sendtype, recvbuf, \
                              taquin::count_view(recvcounts), taquin::count_view(rdispls), recvtype, comm)
#define TAQUIN_EXCHANGE_alltoallw                                                                              \
  taquin::exchange::alltoallw(sendbuf, taquin::count_view(sendcounts), taquin::count_view(sdispls), sendtypes, \
                              recvbuf, taquin::count_view(recvcounts), taquin::count_view(rdispls), recvtypes, comm)
#define TAQUIN_EXCHANGE_alltoallv_in_place                                                                  \
  taquin::exchange::alltoallv_in_place(buffer, taquin::count_view(sendcounts), taquin::count_view(sdispls), \
                                       taquin::count_view(recvcounts), taquin::count_view(rdispls), type, comm)

// DO(NAME, FORM, SUFFIX, COUNT, DISPL) for each exchange and width.
#define TAQUIN_EACH_WIDTH(DO, NAME, FORM) \
  DO(NAME, FORM, , int, int)              \
  DO(NAME, FORM, _c, MPI_Count, MPI_Aint)
#define TAQUIN_EACH_EXCHANGE(DO)              \
  TAQUIN_EACH_WIDTH(DO, Alltoall, alltoall)   \
  TAQUIN_EACH_WIDTH(DO, Alltoallv, alltoallv) \
  TAQUIN_EACH_WIDTH(DO, Alltoallw, alltoallw) \
  TAQUIN_EACH_WIDTH(DO, Alltoallv_in_place, alltoallv_in_place)
