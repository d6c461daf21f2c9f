// The C API's blocking calls.
#include "taquin/alltoall.hpp"

#include "c/fault.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "taquin/taquin.h"

using taquin::count_view;
using taquin::exchange;
using taquin::run;
using namespace taquin::detail;

int TAQUIN_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm) {
  return TAQUIN_Alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

int TAQUIN_Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return guarded(comm, [&] {
    run(with_fault(exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)),
        options_of(comm));
  });
}

// Each call for both widths of counts.
#define TAQUIN_BLOCKING(SUFFIX, COUNT, DISPL)                                                                         \
  int TAQUIN_Alltoallv##SUFFIX(const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],                  \
                               MPI_Datatype sendtype, void* recvbuf, const COUNT recvcounts[], const DISPL rdispls[], \
                               MPI_Datatype recvtype, MPI_Comm comm) {                                                \
    return guarded(comm, [&] {                                                                                        \
      run(with_fault(exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf,     \
                                         count_view(recvcounts), count_view(rdispls), recvtype, comm)),               \
          options_of(comm));                                                                                          \
    });                                                                                                               \
  }                                                                                                                   \
  int TAQUIN_Alltoallw##SUFFIX(const void* sendbuf, const COUNT sendcounts[], const DISPL sdispls[],                  \
                               const MPI_Datatype sendtypes[], void* recvbuf, const COUNT recvcounts[],               \
                               const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {                \
    return guarded(comm, [&] {                                                                                        \
      run(with_fault(exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf,    \
                                         count_view(recvcounts), count_view(rdispls), recvtypes, comm)),              \
          options_of(comm));                                                                                          \
    });                                                                                                               \
  }                                                                                                                   \
  int TAQUIN_Alltoallv_in_place##SUFFIX(void* buffer, const COUNT sendcounts[], const DISPL sdispls[],                \
                                        const COUNT recvcounts[], const DISPL rdispls[], MPI_Datatype type,           \
                                        MPI_Comm comm) {                                                              \
    return guarded(comm, [&] {                                                                                        \
      run(with_fault(exchange::alltoallv_in_place(buffer, count_view(sendcounts), count_view(sdispls),                \
                                                  count_view(recvcounts), count_view(rdispls), type, comm)),          \
          options_of(comm));                                                                                          \
    });                                                                                                               \
  }

TAQUIN_BLOCKING(, int, int)
TAQUIN_BLOCKING(_c, MPI_Count, MPI_Aint)
