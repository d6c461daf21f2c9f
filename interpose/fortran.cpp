// The Fortran names that reach the MPI library without passing the C names above.
//
// MPICH's Fortran calls the C names, which the preloaded library has; only mpi_f08's MPI_Finalize goes to
// PMPI_Finalize. Open MPI's Fortran calls PMPI names: its four spellings of each procedure, and ompi_…_f, which mpi_f08
// calls, stand here. No Fortran compiler is needed: an INTEGER is an int, addresses are passed, and two addresses have
// a meaning.
#include <mpi.h>

#include <vector>

#if defined(OPEN_MPI)

static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran's INTEGER is passed on as int");

extern "C" {
extern int mpi_fortran_in_place_;
extern int mpi_fortran_bottom_;
}

namespace {

void* address(void* buffer) {
  if (buffer == &mpi_fortran_in_place_) return MPI_IN_PLACE;
  if (buffer == &mpi_fortran_bottom_) return MPI_BOTTOM;
  return buffer;
}

void give(MPI_Fint* ierror, int code) {
  if (ierror != nullptr) *ierror = code;
}

std::vector<MPI_Datatype> types(const MPI_Fint* given, int n) {
  std::vector<MPI_Datatype> made;
  made.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) made.push_back(MPI_Type_f2c(given[i]));
  return made;
}

int peers_of(MPI_Comm comm) {
  int inter = 0;
  int peers = 0;
  MPI_Comm_test_inter(comm, &inter);
  inter != 0 ? MPI_Comm_remote_size(comm, &peers) : MPI_Comm_size(comm, &peers);
  return peers;
}

}  // namespace

extern "C" {

void ompi_alltoall_f(void* sendbuf, MPI_Fint* sendcount, MPI_Fint* sendtype, void* recvbuf, MPI_Fint* recvcount,
                     MPI_Fint* recvtype, MPI_Fint* comm, MPI_Fint* ierror) {
  give(ierror, MPI_Alltoall(address(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), address(recvbuf), *recvcount,
                            MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)));
}

void ompi_alltoallv_f(void* sendbuf, MPI_Fint* sendcounts, MPI_Fint* sdispls, MPI_Fint* sendtype, void* recvbuf,
                      MPI_Fint* recvcounts, MPI_Fint* rdispls, MPI_Fint* recvtype, MPI_Fint* comm, MPI_Fint* ierror) {
  give(ierror, MPI_Alltoallv(address(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), address(recvbuf),
                             recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)));
}

void ompi_alltoallw_f(void* sendbuf, MPI_Fint* sendcounts, MPI_Fint* sdispls, MPI_Fint* sendtypes, void* recvbuf,
                      MPI_Fint* recvcounts, MPI_Fint* rdispls, MPI_Fint* recvtypes, MPI_Fint* comm, MPI_Fint* ierror) {
  const MPI_Comm c = MPI_Comm_f2c(*comm);
  const int peers = c == MPI_COMM_NULL ? 0 : peers_of(c);
  void* send = address(sendbuf);
  const auto of_send = types(sendtypes, send == MPI_IN_PLACE ? 0 : peers);
  const auto of_recv = types(recvtypes, peers);
  give(ierror, MPI_Alltoallw(send, sendcounts, sdispls, of_send.data(), address(recvbuf), recvcounts, rdispls,
                             of_recv.data(), c));
}

void ompi_finalize_f(MPI_Fint* ierror) { give(ierror, MPI_Finalize()); }

// The spellings of different Fortran compilers.
#define TAQUIN_SPELLINGS(lower, UPPER)                                                    \
  decltype(ompi_##lower##_f) mpi_##lower __attribute__((alias("ompi_" #lower "_f")));     \
  decltype(ompi_##lower##_f) mpi_##lower##_ __attribute__((alias("ompi_" #lower "_f")));  \
  decltype(ompi_##lower##_f) mpi_##lower##__ __attribute__((alias("ompi_" #lower "_f"))); \
  decltype(ompi_##lower##_f) UPPER __attribute__((alias("ompi_" #lower "_f")));

TAQUIN_SPELLINGS(alltoall, MPI_ALLTOALL)
TAQUIN_SPELLINGS(alltoallv, MPI_ALLTOALLV)
TAQUIN_SPELLINGS(alltoallw, MPI_ALLTOALLW)
TAQUIN_SPELLINGS(finalize, MPI_FINALIZE)
}

#elif defined(MPICH)

extern "C" void mpi_finalize_f08_(MPI_Fint* ierror) {
  const int code = MPI_Finalize();
  if (ierror != nullptr) *ierror = code;
}

#endif
