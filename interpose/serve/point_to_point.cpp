// Messages point to point: counted where calls are observed, so that a recording without all-to-all calls can name the
// program's other calls. The C names alone: Open MPI's Fortran procedures bypass them.
#include <mpi.h>

#include "interpose/event.hpp"
#include "interpose/serve/next.hpp"

using namespace taquin::interpose;

namespace {

void message() noexcept { count(other_call::point_to_point); }
void sendrecv() noexcept {
  message();
  count(other_call::sendrecv);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define TAQUIN_COUNTED(X, AS, PARAMETERS, ARGUMENTS) \
  static int intercepted_##X PARAMETERS {            \
    if (observing()) AS();                           \
    const guard g;                                   \
    return TAQUIN_NEXT(X) ARGUMENTS;                 \
  }                                                  \
  TAQUIN_ONE_NAME(MPI_##X, "MPI_" #X, X, PARAMETERS, ARGUMENTS)
// NOLINTEND(bugprone-macro-parentheses)

TAQUIN_COUNTED(Send, message, (const void* buf, int n, handle type, int to, int tag, handle comm),
               (buf, n, type, to, tag, comm))
TAQUIN_COUNTED(Ssend, message, (const void* buf, int n, handle type, int to, int tag, handle comm),
               (buf, n, type, to, tag, comm))
TAQUIN_COUNTED(Bsend, message, (const void* buf, int n, handle type, int to, int tag, handle comm),
               (buf, n, type, to, tag, comm))
TAQUIN_COUNTED(Rsend, message, (const void* buf, int n, handle type, int to, int tag, handle comm),
               (buf, n, type, to, tag, comm))
TAQUIN_COUNTED(Isend, message,
               (const void* buf, int n, handle type, int to, int tag, handle comm, MPI_Request* request),
               (buf, n, type, to, tag, comm, request))
TAQUIN_COUNTED(Sendrecv, sendrecv,
               (const void* sendbuf, int sends, handle sendtype, int to, int sendtag, void* recvbuf, int recvs,
                handle recvtype, int from, int recvtag, handle comm, MPI_Status* status),
               (sendbuf, sends, sendtype, to, sendtag, recvbuf, recvs, recvtype, from, recvtag, comm, status))
TAQUIN_COUNTED(Sendrecv_replace, sendrecv,
               (void* buf, int n, handle type, int to, int sendtag, int from, int recvtag, handle comm,
                MPI_Status* status),
               (buf, n, type, to, sendtag, from, recvtag, comm, status))
