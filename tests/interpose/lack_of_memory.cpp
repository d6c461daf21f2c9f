// One rank of a program under the preloaded library has no memory for a request of taquin's, or for none from it on, in
// every blocking call among all ranks, at every request: all ranks come back. Where no data had moved, the MPI library
// does the call with right results, and the calls that follow are right on all ranks. A hang ends by a signal.
// Arguments: "merged" where communicators may hold processes of other jobs, so that taquin looks them up.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include "faults/layer.hpp"
#include "interpose/checks.h"

namespace {

using taquin::test::fault;

enum class form : int { alltoall, alltoallv, alltoallw, in_place, in_place_w, forms };
constexpr int block = 5;
constexpr int most_calls_before = 3;  // all are the MPI library's in the first two

int ranks = 0;

struct problem {
  form what;
  fault how;
  int request;
  int calls_before;
};
problem current{};

void hangs(int) {
  std::fprintf(stderr, "hang: rank %d: form %d, fault %d, request %d after %d calls\n", world_rank,
               static_cast<int>(current.what), static_cast<int>(current.how), current.request, current.calls_before);
  _exit(1);
}

int value(int from, int to, int i) { return from * 1000 + to * 10 + i; }

// One call of all ranks; its code. `right` is false after a wrong byte. Allocates nothing.
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
    }
  }

  int run(form what, MPI_Comm comm) {
    for (int k = 0; k < ranks; ++k)
      for (int i = 0; i < block; ++i) out_[index(k, i)] = value(world_rank, k, i);
    std::ranges::fill(in_, -1);
    if (what == form::in_place || what == form::in_place_w) in_ = out_;
    switch (what) {
      case form::alltoall:
        return MPI_Alltoall(out_.data(), block, MPI_INT, in_.data(), block, MPI_INT, comm);
      case form::alltoallv:
        return MPI_Alltoallv(out_.data(), counts_.data(), at_.data(), MPI_INT, in_.data(), counts_.data(), at_.data(),
                             MPI_INT, comm);
      case form::alltoallw:
        return MPI_Alltoallw(out_.data(), counts_.data(), bytes_at_.data(), types_.data(), in_.data(), counts_.data(),
                             bytes_at_.data(), types_.data(), comm);
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
  static std::size_t index(int k, int i) { return static_cast<std::size_t>(k * block + i); }
  std::vector<int> out_, in_, counts_, at_, bytes_at_;
  std::vector<MPI_Datatype> types_;
};

// False where the rank has made fewer requests. The errors of all ranks are added to `errors`.
bool fails_well(const problem& p, exchange& e, int& errors) {
  const int culprit = ranks - 1;
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (int before = 0; before < p.calls_before; ++before) {
    OK(e.run(p.what, comm));
    CHECK(e.right());
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world_rank == culprit) taquin::test::arm(p.how, p.request);
  const int code = e.run(p.what, comm);
  int happened = world_rank == culprit && taquin::test::disarm() ? 1 : 0;
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
  errors += any ? 1 : 0;
  for (int after = 0; !any && after <= most_calls_before; ++after) {
    OK(e.run(p.what, comm));
    CHECK(e.right());
  }
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

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks > 1);
  signal(SIGALRM, hangs);
  if (argc > 1 && std::string_view(argv[1]) == "merged") merge_halves();
  exchange e;
  int failed = 0;
  int errors = 0;
  for (int what = 0; what < static_cast<int>(form::forms); ++what)
    for (const fault how : {fault::memory, fault::no_memory})
      for (int before = 0; before <= most_calls_before; ++before)
        for (int request = 0, more = 1; more != 0; ++request) {
          alarm(100);
          current = {static_cast<form>(what), how, request, before};
          more = fails_well(current, e, errors) ? 1 : 0;
          failed += more;
        }
  alarm(0);
  CHECK(failed > 0);
  if (world_rank == 0) std::printf("lack of memory: %d requests failed, %d calls with errors\n", failed, errors);
  MPI_Finalize();
  return 0;
}
