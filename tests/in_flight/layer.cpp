#include "in_flight/layer.hpp"

#include <mpi.h>

#include "harness/message_counts.hpp"
#include "support/next_function.hpp"

namespace taquin::test::flood {

namespace {

using counts = harness::message_counts<MPI_Request, 512, 1024>;
counts all;

// The window goes with the process.
void allocate() {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win window = MPI_WIN_NULL;
  void* memory = nullptr;
  PMPI_Win_allocate_shared(rank == 0 ? static_cast<MPI_Aint>(counts::memory(ranks)) : 0, 1, MPI_INFO_NULL,
                           MPI_COMM_WORLD, &memory, &window);
  MPI_Aint size = 0;
  int unit = 1;
  PMPI_Win_shared_query(window, 0, &size, &unit, &memory);
  all.attach(memory, rank, ranks);
}

const counts::of_rank& mine() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return all.of(rank);
}

}  // namespace

void begin() {
  if (!all.attached()) allocate();
  PMPI_Barrier(MPI_COMM_WORLD);
  all.clear_mine();
  PMPI_Barrier(MPI_COMM_WORLD);
}

peaks counted() {
  const counts::of_rank& r = mine();
  return {r.most_messages.load(), r.most_bytes.load(), r.most_untaken.load(), r.sent.load()};
}

std::int64_t left() { return mine().messages.load(); }

}  // namespace taquin::test::flood

using namespace taquin::test;

namespace {
std::size_t bytes(int count, MPI_Datatype type) {
  return flood::counts::bytes_of(static_cast<std::size_t>(count), type);
}
}  // namespace

#define TAQUIN_COUNTED(name, parameters, arguments, before, after)                        \
  extern "C" int PMPI_##name parameters {                                                 \
    static auto* const next = taquin::test::next_function<int parameters>("PMPI_" #name); \
    before;                                                                               \
    const int code = next arguments;                                                      \
    after;                                                                                \
    return code;                                                                          \
  }

TAQUIN_COUNTED(Isend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, to, tag, c, r), flood::all.sent(bytes(n, t), to, tag, c), )
TAQUIN_COUNTED(Issend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, to, tag, c, r), flood::all.sent(bytes(n, t), to, tag, c), )
TAQUIN_COUNTED(Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c),
               flood::all.sent(bytes(n, t), to, tag, c), )
TAQUIN_COUNTED(Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, from, tag, c, r), , flood::all.requested(from, tag, c))
TAQUIN_COUNTED(Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
               (b, n, t, from, tag, c, s), flood::all.requested(from, tag, c), )
TAQUIN_COUNTED(Improbe, (int from, int tag, MPI_Comm c, int* found, MPI_Message* m, MPI_Status* s),
               (from, tag, c, found, m, s), , if (*found != 0) flood::all.requested(s->MPI_SOURCE, s->MPI_TAG, c))
TAQUIN_COUNTED(Send_init, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, to, tag, c, r), , flood::all.keep(*r, {true, bytes(n, t), to, tag, c}))
TAQUIN_COUNTED(Recv_init, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, from, tag, c, r), , flood::all.keep(*r, {false, 0, from, tag, c}))
TAQUIN_COUNTED(Start, (MPI_Request * r), (r), flood::all.started(*r), )
