// One rank of a program under the preloaded library has no memory for a request of taquin's, or for none from it on, in
// every all-to-all call, at every request: all ranks come back. Blocking calls in which no data had moved are done by
// the MPI library, with right results. A start that has an error is not entered: repeated, it completes on all ranks.
// The calls that follow are right on all ranks. A hang ends by a signal.
// Arguments: the kind of the calls, below. "merged": communicators may hold processes of other jobs, so that taquin
// looks them up. "init": the request of that number, counted from MPI_Init on, and all that follow until its end.
#include <mpi.h>
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define HAVE_INIT
#define INIT(NAME) MPIX_##NAME##_init
#elif MPI_VERSION >= 4
#define HAVE_INIT
#define INIT(NAME) MPI_##NAME##_init
#endif
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "faults/layer.hpp"
#include "interpose/checks.h"

namespace {

using taquin::test::fault;

enum class form : int { alltoall, alltoallv, alltoallw, in_place, in_place_w, forms };
enum class kind : int { blocking, neighbours, starts, neighbour_starts, persistent, neighbour_persistent };
constexpr int block = 5;

int ranks = 0;

bool is_among_neighbours(kind k) {
  return k == kind::neighbours || k == kind::neighbour_starts || k == kind::neighbour_persistent;
}
bool is_persistent(kind k) { return k == kind::persistent || k == kind::neighbour_persistent; }
bool is_blocking(kind k) { return k == kind::blocking || k == kind::neighbours; }
int forms_of(kind k) { return static_cast<int>(k == kind::blocking ? form::forms : form::in_place); }
// The first two calls are the MPI library's. Slots are made by the fourth, and trials end after three calls of each.
int most_calls_before(kind k) { return k == kind::blocking ? 3 : is_blocking(k) ? 8 : 12; }

struct problem {
  kind of;
  form what;
  fault how;
  int request;
  int calls_before;
};
problem current{};

void hangs(int) {
  std::fprintf(stderr, "hang: rank %d: kind %d, form %d, fault %d, request %d after %d calls\n", world_rank,
               static_cast<int>(current.of), static_cast<int>(current.what), static_cast<int>(current.how),
               current.request, current.calls_before);
  _exit(1);
}

int value(int from, int to, int i) { return from * 1000 + to * 10 + i; }

// The data of one call of all ranks, whose neighbours are all ranks. Its calls return their codes and allocate nothing.
class exchange {
 public:
  exchange() {
    const auto n = static_cast<std::size_t>(ranks);
    for (auto* const each : {&out_, &in_}) each->resize(n * block);
    counts_.resize(n, block);
    types_.resize(n, MPI_INT);
    for (int k = 0; k < ranks; ++k) {
      at_.push_back(k * block);
      bytes_at_.push_back(k * block * static_cast<int>(sizeof(int)));
      addresses_.push_back(bytes_at_.back());
    }
  }

#ifdef HAVE_INIT
  int create(kind of, form what, MPI_Comm comm, MPI_Request* request) {
    const MPI_Info none = MPI_INFO_NULL;
    const bool near = of == kind::neighbour_persistent;
    if (what == form::alltoall)
      return (near ? INIT(Neighbor_alltoall) : INIT(Alltoall))(out_.data(), block, MPI_INT, in_.data(), block, MPI_INT,
                                                               comm, none, request);
    if (what == form::alltoallv)
      return (near ? INIT(Neighbor_alltoallv) : INIT(Alltoallv))(out_.data(), counts_.data(), at_.data(), MPI_INT,
                                                                 in_.data(), counts_.data(), at_.data(), MPI_INT, comm,
                                                                 none, request);
    if (near)
      return INIT(Neighbor_alltoallw)(out_.data(), counts_.data(), addresses_.data(), types_.data(), in_.data(),
                                      counts_.data(), addresses_.data(), types_.data(), comm, none, request);
    return INIT(Alltoallw)(out_.data(), counts_.data(), bytes_at_.data(), types_.data(), in_.data(), counts_.data(),
                           bytes_at_.data(), types_.data(), comm, none, request);
  }
#else
  int create(kind, form, MPI_Comm, MPI_Request*) { return MPI_SUCCESS; }
#endif

  // A blocking call, or a start.
  int begin(kind of, form what, MPI_Comm comm, MPI_Request* request) {
    for (int k = 0; k < ranks; ++k)
      for (int i = 0; i < block; ++i) out_[index(k, i)] = value(world_rank, k, i);
    std::ranges::fill(in_, -1);
    if (what == form::in_place || what == form::in_place_w) std::ranges::copy(out_, in_.begin());
    if (is_persistent(of)) return MPI_Start(request);
    switch (what) {
      case form::alltoall:
        if (is_blocking(of))
          return (of == kind::neighbours ? MPI_Neighbor_alltoall : MPI_Alltoall)(out_.data(), block, MPI_INT,
                                                                                 in_.data(), block, MPI_INT, comm);
        return (of == kind::neighbour_starts ? MPI_Ineighbor_alltoall : MPI_Ialltoall)(
            out_.data(), block, MPI_INT, in_.data(), block, MPI_INT, comm, request);
      case form::alltoallv:
        if (is_blocking(of))
          return (of == kind::neighbours ? MPI_Neighbor_alltoallv : MPI_Alltoallv)(
              out_.data(), counts_.data(), at_.data(), MPI_INT, in_.data(), counts_.data(), at_.data(), MPI_INT, comm);
        return (of == kind::neighbour_starts ? MPI_Ineighbor_alltoallv : MPI_Ialltoallv)(
            out_.data(), counts_.data(), at_.data(), MPI_INT, in_.data(), counts_.data(), at_.data(), MPI_INT, comm,
            request);
      case form::alltoallw:
        return by_types(of, comm, request);
      case form::in_place:
        return MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, in_.data(), counts_.data(), at_.data(),
                             MPI_INT, comm);
      default:
        return MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, in_.data(), counts_.data(), bytes_at_.data(),
                             types_.data(), comm);
    }
  }
  [[nodiscard]] bool right() const {
    for (int k = 0; k < ranks; ++k)
      for (int i = 0; i < block; ++i)
        if (in_[index(k, i)] != value(k, world_rank, i)) return false;
    return true;
  }

 private:
  int by_types(kind of, MPI_Comm comm, MPI_Request* request) {
    if (of == kind::neighbours)
      return MPI_Neighbor_alltoallw(out_.data(), counts_.data(), addresses_.data(), types_.data(), in_.data(),
                                    counts_.data(), addresses_.data(), types_.data(), comm);
    if (of == kind::neighbour_starts)
      return MPI_Ineighbor_alltoallw(out_.data(), counts_.data(), addresses_.data(), types_.data(), in_.data(),
                                     counts_.data(), addresses_.data(), types_.data(), comm, request);
    if (of == kind::blocking)
      return MPI_Alltoallw(out_.data(), counts_.data(), bytes_at_.data(), types_.data(), in_.data(), counts_.data(),
                           bytes_at_.data(), types_.data(), comm);
    return MPI_Ialltoallw(out_.data(), counts_.data(), bytes_at_.data(), types_.data(), in_.data(), counts_.data(),
                          bytes_at_.data(), types_.data(), comm, request);
  }
  static std::size_t index(int k, int i) { return static_cast<std::size_t>(k * block + i); }
  std::vector<int> out_, in_, counts_, at_, bytes_at_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

MPI_Comm make_comm(kind of) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (is_among_neighbours(of)) {
    std::vector<int> all;
    for (int k = 0; k < ranks; ++k) all.push_back(k);
    const std::vector<int> weights(all.size(), 1);
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, all.data(), weights.data(), ranks, all.data(),
                                      weights.data(), MPI_INFO_NULL, 0, &comm));
  } else {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  }
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  return comm;
}

// A call without a fault.
void do_well(const problem& p, exchange& e, MPI_Comm comm, MPI_Request* request) {
  OK(e.begin(p.of, p.what, comm, request));
  if (!is_blocking(p.of)) OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  CHECK(e.right());
}

// The call with the fault; its code. A start that has an error is repeated without one.
int do_with_fault(const problem& p, exchange& e, MPI_Comm comm, MPI_Request* request, int& happened) {
  const bool culprit = world_rank == ranks - 1;
  if (culprit) taquin::test::arm(p.how, p.request);
  int code = e.begin(p.of, p.what, comm, request);
  if (!is_blocking(p.of) && code == MPI_SUCCESS) code = MPI_Wait(request, MPI_STATUS_IGNORE);
  happened = culprit && taquin::test::disarm() ? 1 : 0;
  if (is_blocking(p.of) || code == MPI_SUCCESS) return code;
  CHECK(happened != 0 && class_of(code) == MPI_ERR_NO_MEM);
  do_well(p, e, comm, request);
  return MPI_SUCCESS;
}

// False where the rank has made fewer requests. The errors of all ranks are added to `errors`.
bool fails_well(const problem& p, exchange& e, int& errors) {
  const int culprit = ranks - 1;
  MPI_Comm comm = make_comm(p.of);
  MPI_Request request = MPI_REQUEST_NULL;
  if (is_persistent(p.of)) OK(e.create(p.of, p.what, comm, &request));
  for (int before = 0; before < p.calls_before; ++before) do_well(p, e, comm, &request);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int happened = 0;
  const int code = do_with_fault(p, e, comm, &request, happened);
  CHECK(code != MPI_SUCCESS || e.right());
  OK(MPI_Bcast(&happened, 1, MPI_INT, culprit, MPI_COMM_WORLD));
  std::vector<int> classes(static_cast<std::size_t>(ranks));
  const int own = code == MPI_SUCCESS ? MPI_SUCCESS : class_of(code);
  OK(MPI_Allgather(&own, 1, MPI_INT, classes.data(), 1, MPI_INT, MPI_COMM_WORLD));
  const bool any = std::ranges::any_of(classes, [](int c) { return c != MPI_SUCCESS; });
  CHECK(happened != 0 || !any);
  // After the agreement the culprit's error is its own, and the others' that it has aborted the call.
  CHECK(!std::ranges::all_of(classes, [](int c) { return c == MPI_ERR_NO_MEM; }));
  CHECK(!any || classes.back() != MPI_SUCCESS);
  CHECK(p.of == kind::blocking || !any);  // the others have no data to move before it
  errors += any ? 1 : 0;
  for (int after = 0; !any && after <= most_calls_before(p.of); ++after) do_well(p, e, comm, &request);
  if (is_persistent(p.of)) OK(MPI_Request_free(&request));
  OK(MPI_Comm_free(&comm));
  return happened != 0;
}

// The creation of a persistent call: the MPI library does its starts on all ranks where taquin cannot. After the
// agreement the culprit's error is its own, and the others' that it has aborted the call.
bool is_created_well(const problem& p, exchange& e, int& errors) {
  const int culprit = ranks - 1;
  MPI_Comm comm = make_comm(p.of);
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world_rank == culprit) taquin::test::arm(p.how, p.request);
  const int code = e.create(p.of, p.what, comm, &request);
  int happened = world_rank == culprit && taquin::test::disarm() ? 1 : 0;
  OK(MPI_Bcast(&happened, 1, MPI_INT, culprit, MPI_COMM_WORLD));
  const int wanted = world_rank == culprit ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
  CHECK(code == MPI_SUCCESS || (happened != 0 && class_of(code) == wanted));
  int failed = code == MPI_SUCCESS ? 0 : 1;
  OK(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(failed == 0 || failed == ranks);
  errors += failed == 0 ? 0 : 1;
  for (int start = 0; failed == 0 && start <= most_calls_before(p.of); ++start) do_well(p, e, comm, &request);
  if (failed == 0) OK(MPI_Request_free(&request));
  OK(MPI_Comm_free(&comm));
  return happened != 0;
}

// From now on this process knows that a communicator may hold processes of several jobs.
void merge_halves() {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  const int high = world_rank < ranks / 2 ? 0 : 1;
  OK(MPI_Comm_split(MPI_COMM_WORLD, high, 0, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, high == 0 ? ranks / 2 : 0, 1, &both));
  OK(MPI_Intercomm_merge(both, high, &merged));
  for (MPI_Comm* const c : {&merged, &both, &half}) OK(MPI_Comm_free(c));
}

struct tally {
  int failed = 0;
  int errors = 0;
};

// `attempt(problem)` says whether its fault has happened.
template <class Attempt>
void at_every_request(problem p, tally& all, Attempt attempt) {
  for (bool more = true; more; ++p.request) {
    alarm(100);
    current = p;
    more = attempt(p);
    all.failed += more ? 1 : 0;
  }
}

void calls_of(kind of, exchange& e, tally& all) {
  for (int what = 0; what < forms_of(of); ++what)
    for (const fault how : {fault::memory, fault::no_memory}) {
      problem p{of, static_cast<form>(what), how, 0, 0};
      if (is_persistent(of))
        at_every_request(p, all, [&](const problem& one) { return is_created_well(one, e, all.errors); });
      for (; p.calls_before <= most_calls_before(of); ++p.calls_before)
        at_every_request(p, all, [&](const problem& one) { return fails_well(one, e, all.errors); });
    }
}

// MPI_Init with a lack of memory on the last rank, then calls of every kind.
int started_without_memory(int* argc, char*** argv, int request) {
  const char* const number =
      std::getenv("OMPI_COMM_WORLD_RANK") != nullptr ? std::getenv("OMPI_COMM_WORLD_RANK") : std::getenv("PMI_RANK");
  CHECK(number != nullptr);
  signal(SIGALRM, hangs);
  alarm(100);
  if (std::atoi(number) == 1) taquin::test::arm(fault::no_memory, request);
  OK(MPI_Init(argc, argv));
  int happened = taquin::test::disarm() ? 1 : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  OK(MPI_Allreduce(MPI_IN_PLACE, &happened, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  exchange e;
  for (const kind of : {kind::blocking, kind::neighbours, kind::starts, kind::neighbour_starts}) {
    MPI_Comm comm = make_comm(of);
    MPI_Request request_of = MPI_REQUEST_NULL;
    const problem p{of, form::alltoallv, fault::no_memory, request, 0};
    for (int call = 0; call <= most_calls_before(of); ++call) do_well(p, e, comm, &request_of);
    OK(MPI_Comm_free(&comm));
  }
  if (world_rank == 0) std::printf("MPI_Init: %s\n", happened != 0 ? "a request failed" : "no request failed");
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "blocking";
  if (what == "init") return started_without_memory(&argc, &argv, std::atoi(argv[2]));
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks > 1);
  signal(SIGALRM, hangs);
  if (what == "merged") merge_halves();
  exchange e;
  tally all;
  if (what == "blocking" || what == "merged") calls_of(kind::blocking, e, all);
  if (what == "neighbours") calls_of(kind::neighbours, e, all);
  if (what == "starts")
    for (const kind of : {kind::starts, kind::neighbour_starts}) calls_of(of, e, all);
#ifdef HAVE_INIT
  if (what == "persistent")
    for (const kind of : {kind::persistent, kind::neighbour_persistent}) calls_of(of, e, all);
#endif
  alarm(0);
  if (world_rank == 0)
    std::printf("lack of memory: %d requests failed, %d calls with errors\n", all.failed, all.errors);
  MPI_Finalize();
  return 0;
}
