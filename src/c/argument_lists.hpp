// The argument lists of the exchanges, once: the C API's blocking calls and plans are generated from them, and so are
// the wrappers of the preloaded library.
#pragma once

#include <mpi.h>

#include "taquin/exchange.hpp"

// TAQUIN_PARAMETERS_FORM: as MPI has them, for one width of counts and displacements. TYPE and COMM stand for a
//                         datatype
// and a communicator.
#define TAQUIN_PARAMETERS_alltoall(COUNT, DISPL, TYPE, COMM) \
  const void *sendbuf, COUNT sendcount, TYPE sendtype, void *recvbuf, COUNT recvcount, TYPE recvtype, COMM comm
#define TAQUIN_PARAMETERS_alltoallv(COUNT, DISPL, TYPE, COMM)                                         \
  const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], TYPE sendtype, void *recvbuf, \
      const COUNT recvcounts[], const DISPL rdispls[], TYPE recvtype, COMM comm
#define TAQUIN_PARAMETERS_alltoallw(COUNT, DISPL, TYPE, COMM)                                                          \
  const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
      const COUNT recvcounts[], const DISPL rdispls[], const MPI_Datatype recvtypes[], COMM comm
#define TAQUIN_PARAMETERS_alltoallv_in_place(COUNT, DISPL, TYPE, COMM)                                            \
  void *buffer, const COUNT sendcounts[], const DISPL sdispls[], const COUNT recvcounts[], const DISPL rdispls[], \
      TYPE type, COMM comm

// TAQUIN_ARGUMENTS_FORM: their names.
#define TAQUIN_ARGUMENTS_alltoall sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define TAQUIN_ARGUMENTS_alltoallv sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
#define TAQUIN_ARGUMENTS_alltoallw \
  sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm

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

// DO(NAME, FORM, SUFFIX, COUNT, DISPL) for each exchange of the C API and each width.
#define TAQUIN_EACH_WIDTH(DO, NAME, FORM) \
  DO(NAME, FORM, , int, int)              \
  DO(NAME, FORM, _c, MPI_Count, MPI_Aint)
#define TAQUIN_EACH_EXCHANGE(DO)              \
  TAQUIN_EACH_WIDTH(DO, Alltoall, alltoall)   \
  TAQUIN_EACH_WIDTH(DO, Alltoallv, alltoallv) \
  TAQUIN_EACH_WIDTH(DO, Alltoallw, alltoallw) \
  TAQUIN_EACH_WIDTH(DO, Alltoallv_in_place, alltoallv_in_place)
