// The program frees a communicator: the objects kept with it end first. Not when its attributes are deleted: MPICH
// deletes them where it must not be called, and only when nothing is in progress on the communicator, taquin's
// operations included.
#include <mpi.h>

#include "interpose/event.hpp"
#include "interpose/serve/neighbours.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/route.hpp"
#include "interpose/serve/start_service.hpp"

using namespace taquin::interpose;

namespace {

// A tool below may call the second name, and then means the MPI library.
constinit thread_local bool passed_on = false;

// The MPI library is not called inside taquin: its attributes' functions are the program's, and may free others.
template <class Own, class Chained>
int free_by(MPI_Comm* comm, bool second_name, Own own, Chained chained) noexcept {
  if (inside || (second_name && passed_on)) return own(comm);
  if (!other_library && comm != nullptr && *comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD && in_service()) {
    const guard g;
    try {
      neighbour_service::forget(*comm);
      start_service::forget(*comm);
      if (observing()) communicator_goes(*comm);
    } catch (...) {
      return fail(*comm);
    }
  }
  const bool before = passed_on;
  passed_on = true;
  const int code = chained(comm);
  passed_on = before;
  return code;
}

}  // namespace

#define TAQUIN_FREES(X)                         \
  TAQUIN_FREES_BY(MPI_##X, "MPI_" #X, X, false) \
  TAQUIN_FREES_BY(PMPI_##X, "PMPI_" #X, X, true)
#define TAQUIN_FREES_BY(NAME, SYMBOL, X, SECOND)                  \
  extern "C" int exported_##NAME(MPI_Comm* comm) __asm__(SYMBOL); \
  extern "C" int exported_##NAME(MPI_Comm* comm) { return free_by(comm, SECOND, TAQUIN_REAL(X), TAQUIN_NEXT(X)); }

TAQUIN_FREES(Comm_free)
TAQUIN_FREES(Comm_disconnect)
