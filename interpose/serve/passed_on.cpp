// Exchanges that go to the MPI library as they are, observed like the others: nonblocking ones, and those between the
// neighbours of a topology. Requests are followed until they are complete.
#include <mpi.h>

#include <memory>
#include <numeric>
#include <vector>

#include "interpose/event.hpp"
#include "interpose/serve/arguments.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/serve/requests.hpp"
#include "interpose/serve/route.hpp"
#include "taquin/exchange.hpp"

using taquin::count_t;
using taquin::count_view;
using namespace taquin::interpose;
using kind = taquin::workloads::call_kind;

namespace {

// Passes a call on; `observe` gives what it moves. A request that the call makes is looked after until it is complete.
template <class Native, class Observe>
int pass(MPI_Comm comm, const void* site, kind what, call_form form, MPI_Request* request, Native&& native,
         Observe&& observe) noexcept {
  const guard g;
  if (!observing() || !served(comm)) return native();
  try {
    if (form == call_form::persistent) {
      const int code = native();
      if (code != MPI_SUCCESS) return code;
      tracked_request::observation seen{name_persistent(comm), what, site, observe(), {}};
      track(*request, std::make_unique<tracked_request>(comm, nullptr, std::move(seen)));
      return code;
    }
    call_event call(comm, what, form, site);
    const int code = native();
    if (code != MPI_SUCCESS) return code;
    if (request == nullptr)
      call.ended({}, observe());
    else
      track(*request, std::make_unique<tracked_request>(call.started({}, observe())));
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
  PMPI_Comm_rank(comm, &rank);
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
moved among_neighbours(MPI_Comm comm, const count_view& sends, const Sent& send_types, const count_view& receives,
                       const Received& receive_types) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  moved r;
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
  return r;
}

count_view same(count_t count) { return {count, 0}; }

}  // namespace

#define OBSERVE_alltoall moved_by(TAQUIN_EXCHANGE_alltoall)
#define OBSERVE_alltoallv moved_by(TAQUIN_EXCHANGE_alltoallv)
#define OBSERVE_alltoallw moved_by(TAQUIN_EXCHANGE_alltoallw)
#define OBSERVE_neighbor_alltoall \
  among_neighbours(               \
      comm, same(sendcount), [&](int) { return sendtype; }, same(recvcount), [&](int) { return recvtype; })
#define OBSERVE_neighbor_alltoallv                                                         \
  among_neighbours(                                                                        \
      comm, count_view(sendcounts), [&](int) { return sendtype; }, count_view(recvcounts), \
      [&](int) { return recvtype; })
#define OBSERVE_neighbor_alltoallw                                                               \
  among_neighbours(                                                                              \
      comm, count_view(sendcounts), [&](int i) { return sendtypes[i]; }, count_view(recvcounts), \
      [&](int i) { return recvtypes[i]; })

// A blocking call, and others, which have a request behind their arguments.
#define TAQUIN_PASS(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                                                  \
  static int intercepted_##X##SUFFIX(TAQUIN_TAKES(LIKE, COUNT, DISPL)) {                                  \
    return pass(                                                                                          \
        comm, caller, kind::KIND, call_form::blocking, nullptr,                                           \
        [&] { return TAQUIN_NEXT(X##SUFFIX)(TAQUIN_ARGUMENTS_##LIKE); }, [&] { return OBSERVE_##KIND; }); \
  }                                                                                                       \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (TAQUIN_TAKES(LIKE, COUNT, DISPL)), (TAQUIN_ARGUMENTS_##LIKE))
#define TAQUIN_PASS_REQUEST(X, LIKE, KIND, SUFFIX, COUNT, DISPL)                                                   \
  static int intercepted_##X##SUFFIX(TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request* request) {                     \
    return pass(                                                                                                   \
        comm, caller, kind::KIND, call_form::nonblocking, request,                                                 \
        [&] { return TAQUIN_NEXT(X##SUFFIX)(TAQUIN_ARGUMENTS_##LIKE, request); }, [&] { return OBSERVE_##KIND; }); \
  }                                                                                                                \
  TAQUIN_BOTH_NAMES(X##SUFFIX, (TAQUIN_TAKES(LIKE, COUNT, DISPL), MPI_Request * request),                          \
                    (TAQUIN_ARGUMENTS_##LIKE, request))
#define TAQUIN_PASS_INIT(PREFIX, X, LIKE, KIND, COUNT, DISPL)                                                  \
  static int intercepted_##PREFIX##_##X PARAMETERS_INIT(LIKE, COUNT, DISPL) {                                  \
    return pass(                                                                                               \
        comm, caller, kind::KIND, call_form::persistent, request,                                              \
        [&] { return TAQUIN_NEXT_INIT(PREFIX, X, PARAMETERS_INIT(LIKE, COUNT, DISPL)) ARGUMENTS_INIT(LIKE); }, \
        [&] { return OBSERVE_##KIND; });                                                                       \
  }                                                                                                            \
  TAQUIN_INIT_NAMES(PREFIX, X, PARAMETERS_INIT(LIKE, COUNT, DISPL), ARGUMENTS_INIT(LIKE))
#define TAQUIN_NEIGHBOUR_INIT(PREFIX, SUFFIX, COUNT, DISPL)                                              \
  TAQUIN_PASS_INIT(PREFIX, Neighbor_alltoall_init##SUFFIX, alltoall, neighbor_alltoall, COUNT, DISPL)    \
  TAQUIN_PASS_INIT(PREFIX, Neighbor_alltoallv_init##SUFFIX, alltoallv, neighbor_alltoallv, COUNT, DISPL) \
  TAQUIN_PASS_INIT(PREFIX, Neighbor_alltoallw_init##SUFFIX, alltoallw, neighbor_alltoallw, COUNT, MPI_Aint)

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

TAQUIN_EACH_COUNT(TAQUIN_SURFACE)
TAQUIN_EACH_INIT(TAQUIN_NEIGHBOUR_INIT)
