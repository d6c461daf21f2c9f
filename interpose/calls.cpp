// The C names of MPI that this library stands in for.
#include <mpi.h>

#include "interpose/message.hpp"
#include "interpose/route.hpp"
#include "taquin/exchange.hpp"

using taquin::count_view;
using taquin::exchange;
using namespace taquin::interpose;
using namespace taquin::detail;

// Each call for both widths of counts.
#define TAQUIN_INTERPOSE(SUFFIX, COUNT, DISPL)                                                                      \
  int MPI_Alltoall##SUFFIX(const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,              \
                           COUNT recvcount, MPI_Datatype recvtype, MPI_Comm comm) {                                 \
    return serve(                                                                                                   \
        comm, [&] { return exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); }, \
        [&] { return PMPI_Alltoall##SUFFIX(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); });   \
  }                                                                                                                 \
  int MPI_Alltoallv##SUFFIX(const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],                   \
                            MPI_Datatype sendtype, void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[],  \
                            MPI_Datatype recvtype, MPI_Comm comm) {                                                 \
    return serve(                                                                                                   \
        comm,                                                                                                       \
        [&] {                                                                                                       \
          return exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf,       \
                                     count_view(recvcounts), count_view(rdispls), recvtype, comm);                  \
        },                                                                                                          \
        [&] {                                                                                                       \
          return PMPI_Alltoallv##SUFFIX(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,       \
                                        recvtype, comm);                                                            \
        });                                                                                                         \
  }                                                                                                                 \
  int MPI_Alltoallw##SUFFIX(const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],                   \
                            const MPI_Datatype sendtypes[], void* recvbuf, const COUNT recvcounts[],                \
                            const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {                 \
    return serve(                                                                                                   \
        comm,                                                                                                       \
        [&] {                                                                                                       \
          return exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf,      \
                                     count_view(recvcounts), count_view(rdispls), recvtypes, comm);                 \
        },                                                                                                          \
        [&] {                                                                                                       \
          return PMPI_Alltoallw##SUFFIX(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,      \
                                        recvtypes, comm);                                                           \
        });                                                                                                         \
  }

extern "C" {

TAQUIN_INTERPOSE(, int, int)
#if MPI_VERSION >= 4
TAQUIN_INTERPOSE(_c, MPI_Count, MPI_Aint)
#endif

int MPI_Finalize() {
  if (!settings::get().record.empty() && served(MPI_COMM_WORLD)) write_record();
  end_service();
  return PMPI_Finalize();
}
}
