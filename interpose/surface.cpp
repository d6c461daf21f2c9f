// Exchanges that go to the MPI library as they are, observed like the others: nonblocking ones, and those between the
// neighbours of a topology. A nonblocking call's time is that of the call itself, without what is waited for later.
#include <mpi.h>

#include <numeric>
#include <vector>

#include "interpose/message.hpp"
#include "interpose/next.hpp"
#include "interpose/recorder.hpp"
#include "interpose/route.hpp"
#include "taquin/exchange.hpp"

using taquin::count_t;
using taquin::count_view;
using taquin::exchange;
using namespace taquin::interpose;
using kind = taquin::workloads::call_kind;

namespace {

// Passes a call on; `observe` gives what is noted of it.
template <class Native, class Observe>
int pass(MPI_Comm comm, const void* site, kind what, call_form form, Native&& native, Observe&& observe) noexcept {
  const guard g;
  if (!observing() || !served(comm)) return native();
  try {
    observed_call call(comm, what, form, site);
    const int code = native();
    if (code == MPI_SUCCESS) observe(call);
    return code;
  } catch (...) {
    return fail(comm);
  }
}

// The ranks that the neighbours' blocks go to, or come from, in the order of the blocks.
std::vector<int> neighbours(MPI_Comm comm, bool send) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  std::vector<int> ranks;
  if (topology == MPI_DIST_GRAPH) {
    int in = 0;
    int out = 0;
    int weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    std::vector<int> sources(static_cast<std::size_t>(in));
    std::vector<int> targets(static_cast<std::size_t>(out));
    std::vector<int> source_weights(sources.size());
    std::vector<int> target_weights(targets.size());
    PMPI_Dist_graph_neighbors(comm, in, sources.data(), weighted != 0 ? source_weights.data() : MPI_UNWEIGHTED, out,
                              targets.data(), weighted != 0 ? target_weights.data() : MPI_UNWEIGHTED);
    return send ? targets : sources;
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  int n = 0;
  if (topology == MPI_GRAPH) {
    PMPI_Graph_neighbors_count(comm, rank, &n);
    ranks.resize(static_cast<std::size_t>(n));
    PMPI_Graph_neighbors(comm, rank, n, ranks.data());
  } else if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &n);
    for (int dimension = 0; dimension < n; ++dimension) {
      int before = 0;
      int behind = 0;
      PMPI_Cart_shift(comm, dimension, 1, &before, &behind);
      ranks.insert(ranks.end(), {before, behind});
    }
  }
  return ranks;
}

// The bytes of neighbours' blocks as rows over all ranks of the communicator.
template <class Sent, class Received>
void observe_neighbours(observed_call& call, MPI_Comm comm, const count_view& sends, const Sent& send_types,
                        const count_view& receives, const Received& receive_types) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  rows r;
  const auto add = [&](std::vector<count_t>& row, bool send, const count_view& counts, const auto& types) {
    row.assign(static_cast<std::size_t>(size), 0);
    const auto peers = neighbours(comm, send);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const int at = static_cast<int>(i);
      if (peers[i] == MPI_PROC_NULL || counts[at] <= 0) continue;
      const count_t element = taquin::element::of(types(at)).size;
      row[static_cast<std::size_t>(peers[i])] += counts[at] * element;
      if (send) r.element_bytes = std::gcd(r.element_bytes, element);
    }
  };
  add(r.sent, true, sends, send_types);
  add(r.received, false, receives, receive_types);
  call.end({}, false, r);
}

count_view same(count_t count) { return {count, 0}; }

}  // namespace

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

#define OBSERVE_alltoall \
  call.end(exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), {})
#define OBSERVE_alltoallv                                                                               \
  call.end(exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf, \
                               count_view(recvcounts), count_view(rdispls), recvtype, comm),            \
           {})
#define OBSERVE_alltoallw                                                                                \
  call.end(exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf, \
                               count_view(recvcounts), count_view(rdispls), recvtypes, comm),            \
           {})
#define OBSERVE_neighbor_alltoall \
  observe_neighbours(             \
      call, comm, same(sendcount), [&](int) { return sendtype; }, same(recvcount), [&](int) { return recvtype; })
#define OBSERVE_neighbor_alltoallv                                                               \
  observe_neighbours(                                                                            \
      call, comm, count_view(sendcounts), [&](int) { return sendtype; }, count_view(recvcounts), \
      [&](int) { return recvtype; })
#define OBSERVE_neighbor_alltoallw                                                                     \
  observe_neighbours(                                                                                  \
      call, comm, count_view(sendcounts), [&](int i) { return sendtypes[i]; }, count_view(recvcounts), \
      [&](int i) { return recvtypes[i]; })

// A blocking call, and a nonblocking one, which has a request behind its arguments.
#define TAQUIN_PASS(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                                                         \
  static int intercepted_##X##SUFFIX(PARAMETERS_##LIKE(COUNT, DISPL)) {                                          \
    return pass(                                                                                                 \
        comm, caller, kind::KIND, call_form::blocking, [&] { return TAQUIN_NEXT(X##SUFFIX)(ARGUMENTS_##LIKE); }, \
        [&](observed_call& call) { OBSERVE_##KIND; });                                                           \
  }                                                                                                              \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (PARAMETERS_##LIKE(COUNT, DISPL)), (ARGUMENTS_##LIKE))
#define TAQUIN_PASS_REQUEST(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                              \
  static int intercepted_##X##SUFFIX(PARAMETERS_##LIKE(COUNT, DISPL), MPI_Request* request) { \
    return pass(                                                                              \
        comm, caller, kind::KIND, call_form::nonblocking,                                     \
        [&] { return TAQUIN_NEXT(X##SUFFIX)(ARGUMENTS_##LIKE, request); },                    \
        [&](observed_call& call) { OBSERVE_##KIND; });                                        \
  }                                                                                           \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (PARAMETERS_##LIKE(COUNT, DISPL), MPI_Request * request), (ARGUMENTS_##LIKE, request))

#define TAQUIN_SURFACE(SUFFIX, COUNT, DISPL)                                                    \
  TAQUIN_PASS_REQUEST(Ialltoall, alltoall, alltoall, SUFFIX, COUNT, DISPL)                      \
  TAQUIN_PASS_REQUEST(Ialltoallv, alltoallv, alltoallv, SUFFIX, COUNT, DISPL)                   \
  TAQUIN_PASS_REQUEST(Ialltoallw, alltoallw, alltoallw, SUFFIX, COUNT, DISPL)                   \
  TAQUIN_PASS(Neighbor_alltoall, alltoall, neighbor_alltoall, SUFFIX, COUNT, DISPL)             \
  TAQUIN_PASS(Neighbor_alltoallv, alltoallv, neighbor_alltoallv, SUFFIX, COUNT, DISPL)          \
  TAQUIN_PASS(Neighbor_alltoallw, alltoallw, neighbor_alltoallw, SUFFIX, COUNT, MPI_Aint)       \
  TAQUIN_PASS_REQUEST(Ineighbor_alltoall, alltoall, neighbor_alltoall, SUFFIX, COUNT, DISPL)    \
  TAQUIN_PASS_REQUEST(Ineighbor_alltoallv, alltoallv, neighbor_alltoallv, SUFFIX, COUNT, DISPL) \
  TAQUIN_PASS_REQUEST(Ineighbor_alltoallw, alltoallw, neighbor_alltoallw, SUFFIX, COUNT, MPI_Aint)

TAQUIN_SURFACE(, int, int)
#if MPI_VERSION >= 4
TAQUIN_SURFACE(_c, MPI_Count, MPI_Aint)
#endif
