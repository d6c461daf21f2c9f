// The argument lists of MPI's three forms, for both widths of counts, and what a call with them moves.
#pragma once

#include <mpi.h>

#include "interpose/next.hpp"
#include "interpose/recorder.hpp"
#include "taquin/exchange.hpp"

#define PARAMETERS_alltoall(COUNT, DISPL) \
  const void *sendbuf, COUNT sendcount, handle sendtype, void *recvbuf, COUNT recvcount, handle recvtype, handle comm
#define PARAMETERS_alltoallv(COUNT, DISPL)                                                              \
  const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], handle sendtype, void *recvbuf, \
      const COUNT recvcounts[], const DISPL rdispls[], handle recvtype, handle comm
#define PARAMETERS_alltoallw(COUNT, DISPL)                                                                             \
  const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, \
      const COUNT recvcounts[], const DISPL rdispls[], const MPI_Datatype recvtypes[], handle comm
#define ARGUMENTS_alltoall sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define ARGUMENTS_alltoallv sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
#define ARGUMENTS_alltoallw sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm

#define EXCHANGE_alltoall exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
#define EXCHANGE_alltoallv                                                                                             \
  exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf, count_view(recvcounts), \
                      count_view(rdispls), recvtype, comm)
#define EXCHANGE_alltoallw                                                                      \
  exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf, \
                      count_view(recvcounts), count_view(rdispls), recvtypes, comm)

// Persistent calls: an info and a request stand behind the arguments. MPI 4 has them, Open MPI 5 before it says so, and
// Open MPI 4 and 5 under names of their own.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define TAQUIN_HAS_INIT
#endif
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION <= 5
#define TAQUIN_HAS_MPIX_INIT
#endif
#define PARAMETERS_INIT(LIKE, COUNT, DISPL) (PARAMETERS_##LIKE(COUNT, DISPL), handle info, MPI_Request * request)
#define ARGUMENTS_INIT(LIKE) (ARGUMENTS_##LIKE, info, request)
/// Both names of PREFIX_X; `intercepted_PREFIX_X` does the work.
#define TAQUIN_INIT_NAMES(PREFIX, X, PARAMETERS, ARGUMENTS)                                                        \
  TAQUIN_NAME(PREFIX##_##X, #PREFIX "_" #X, #PREFIX "_" #X, "P" #PREFIX "_" #X, intercepted_##PREFIX##_##X,        \
              PARAMETERS, ARGUMENTS)                                                                               \
  TAQUIN_NAME(P##PREFIX##_##X, "P" #PREFIX "_" #X, #PREFIX "_" #X, "P" #PREFIX "_" #X, intercepted_##PREFIX##_##X, \
              PARAMETERS, ARGUMENTS)
/// The next library's PREFIX_X.
#define TAQUIN_NEXT_INIT(PREFIX, X, PARAMETERS)                                       \
  ([] {                                                                               \
    static auto *const f = ::taquin::interpose::next<int PARAMETERS>(#PREFIX "_" #X); \
    return f;                                                                         \
  }())
/// DO(PREFIX, SUFFIX, COUNT, DISPL) for each kind of them that the library has.
#ifdef TAQUIN_HAS_INIT
#define TAQUIN_EACH_INIT_INT(DO) DO(MPI, , int, int)
#else
#define TAQUIN_EACH_INIT_INT(DO)
#endif
#ifdef TAQUIN_HAS_MPIX_INIT
#define TAQUIN_EACH_INIT_MPIX(DO) DO(MPIX, , int, int)
#else
#define TAQUIN_EACH_INIT_MPIX(DO)
#endif
#if MPI_VERSION >= 4
#define TAQUIN_EACH_INIT_LARGE(DO) DO(MPI, _c, MPI_Count, MPI_Aint)
#else
#define TAQUIN_EACH_INIT_LARGE(DO)
#endif
#define TAQUIN_EACH_INIT(DO) TAQUIN_EACH_INIT_INT(DO) TAQUIN_EACH_INIT_MPIX(DO) TAQUIN_EACH_INIT_LARGE(DO)
