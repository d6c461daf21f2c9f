// The exchanges that taquin serves.
#include <mpi.h>

#include "interpose/next.hpp"
#include "interpose/route.hpp"
#include "taquin/exchange.hpp"

// Defined here by their own names.
#undef MPI_Alltoall
#undef MPI_Alltoallv
#undef MPI_Alltoallw

using taquin::count_view;
using taquin::exchange;
using namespace taquin::interpose;

// Each call for both widths of counts.
#define TAQUIN_INTERPOSE(SUFFIX, COUNT, DISPL)                                                                         \
  static int intercepted_Alltoall##SUFFIX(const void* sendbuf, COUNT sendcount, handle sendtype, void* recvbuf,        \
                                          COUNT recvcount, handle recvtype, handle comm) {                             \
    return serve(                                                                                                      \
        comm, caller,                                                                                                  \
        [&] { return exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); },          \
        [&] {                                                                                                          \
          return TAQUIN_NEXT(Alltoall##SUFFIX)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);      \
        });                                                                                                            \
  }                                                                                                                    \
  static int intercepted_Alltoallv##SUFFIX(const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],       \
                                           handle sendtype, void* recvbuf, const COUNT recvcounts[],                   \
                                           const DISPL rdispls[], handle recvtype, handle comm) {                      \
    return serve(                                                                                                      \
        comm, caller,                                                                                                  \
        [&] {                                                                                                          \
          return exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf,          \
                                     count_view(recvcounts), count_view(rdispls), recvtype, comm);                     \
        },                                                                                                             \
        [&] {                                                                                                          \
          return TAQUIN_NEXT(Alltoallv##SUFFIX)(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,  \
                                                recvtype, comm);                                                       \
        });                                                                                                            \
  }                                                                                                                    \
  static int intercepted_Alltoallw##SUFFIX(const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],       \
                                           const MPI_Datatype sendtypes[], void* recvbuf, const COUNT recvcounts[],    \
                                           const DISPL rdispls[], const MPI_Datatype recvtypes[], handle comm) {       \
    return serve(                                                                                                      \
        comm, caller,                                                                                                  \
        [&] {                                                                                                          \
          return exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf,         \
                                     count_view(recvcounts), count_view(rdispls), recvtypes, comm);                    \
        },                                                                                                             \
        [&] {                                                                                                          \
          return TAQUIN_NEXT(Alltoallw##SUFFIX)(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, \
                                                recvtypes, comm);                                                      \
        });                                                                                                            \
  }                                                                                                                    \
  TAQUIN_BOTH_NAMES(Alltoall##SUFFIX,                                                                                  \
                    (const void* sendbuf, COUNT sendcount, handle sendtype, void* recvbuf, COUNT recvcount,            \
                     handle recvtype, handle comm),                                                                    \
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))                                \
  TAQUIN_BOTH_NAMES(Alltoallv##SUFFIX,                                                                                 \
                    (const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[], handle sendtype,            \
                     void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[], handle recvtype, handle comm),    \
                    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))            \
  TAQUIN_BOTH_NAMES(                                                                                                   \
      Alltoallw##SUFFIX,                                                                                               \
      (const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[], const MPI_Datatype sendtypes[],           \
       void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[], const MPI_Datatype recvtypes[], handle comm),   \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))

TAQUIN_INTERPOSE(, int, int)
#if MPI_VERSION >= 4
TAQUIN_INTERPOSE(_c, MPI_Count, MPI_Aint)
#endif
