// Nonblocking exchanges among all ranks, which go to the MPI library as they are, observed like the others. Their
// requests are followed until they are complete.
#include <mpi.h>

#include <memory>

#include "interpose/event.hpp"
#include "interpose/serve/arguments.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"

using namespace taquin::interpose;
using kind = taquin::workloads::call_kind;

namespace {

// Passes a call on; `observe` gives what it moves. Its request is looked after until it is complete.
template <class Native, class Observe>
int pass(MPI_Comm comm, const void* site, kind what, MPI_Request* request, Native&& native,
         Observe&& observe) noexcept {
  return in_frame(comm, native, [&] {
    if (!observing()) return native();
    call_event call(comm, what, call_form::nonblocking, site);
    const int code = native();
    if (code != MPI_SUCCESS) return code;
    track(*request, std::make_unique<tracked_request>(call.started({}, observe())));
    return code;
  });
}

}  // namespace

#define TAQUIN_PASS_REQUEST(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                                                     \
  static int intercepted_##X##SUFFIX(TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request* request) {                       \
    return pass(                                                                                                     \
        comm, caller, kind::KIND, request, [&] { return TAQUIN_NEXT(X##SUFFIX)(TAQUIN_ARGUMENTS_##LIKE, request); }, \
        [&] { return moved_by(TAQUIN_EXCHANGE_##LIKE); });                                                           \
  }                                                                                                                  \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request * request),                            \
                    (TAQUIN_ARGUMENTS_##LIKE, request))
#define TAQUIN_SURFACE(SUFFIX, COUNT, DISPL)                                  \
  TAQUIN_PASS_REQUEST(Ialltoall, alltoall, alltoall, SUFFIX, COUNT, DISPL)    \
  TAQUIN_PASS_REQUEST(Ialltoallv, alltoallv, alltoallv, SUFFIX, COUNT, DISPL) \
  TAQUIN_PASS_REQUEST(Ialltoallw, alltoallw, alltoallw, SUFFIX, COUNT, DISPL)

TAQUIN_EACH_COUNT(TAQUIN_SURFACE)
