#include "support/flood_layer.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace taquin::test::flood {

namespace {

constexpr int most_tags = 512;    // tags share counters by their remainder
constexpr int most_sizes = 1024;  // of messages of one sender and tag that nobody has asked for

// One sender's messages of one tag to one receiver: sent minus asked for, and their sizes in turn.
struct line {
  std::atomic<std::int32_t> waiting{0};
  std::atomic<std::uint32_t> sent{0};
  std::atomic<std::uint32_t> asked{0};
};
struct of_rank {
  std::atomic<std::int64_t> unexpected{0}, bytes{0}, untaken{0};
  std::atomic<std::int64_t> most_unexpected{0}, most_bytes{0}, most_untaken{0};
};

struct shared {
  MPI_Win window = MPI_WIN_NULL;
  int rank = 0, ranks = 1;
  of_rank* totals = nullptr;
  line* lines = nullptr;
  std::int32_t* sizes = nullptr;
};
shared all;

struct prepared {
  bool sends;
  std::int64_t bytes;
  int peer, tag;
  MPI_Comm comm;
};
std::map<MPI_Request, prepared> persistent;
std::mutex guard;

std::size_t index(int from, int to, int tag) {
  return (static_cast<std::size_t>(from) * static_cast<std::size_t>(all.ranks) + static_cast<std::size_t>(to)) *
             most_tags +
         static_cast<std::size_t>(tag % most_tags);
}

void raise(std::atomic<std::int64_t>& most, std::int64_t value) {
  std::int64_t known = most.load();
  while (known < value && !most.compare_exchange_weak(known, value)) {
  }
}

int in_world(int rank, MPI_Comm comm) {
  MPI_Group mine = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int there = MPI_UNDEFINED;
  PMPI_Comm_group(comm, &mine);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(mine, 1, &rank, world, &there);
  PMPI_Group_free(&mine);
  PMPI_Group_free(&world);
  return there;
}

std::int64_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::int64_t>(count) * size;
}

void sent(std::int64_t bytes, int peer, int tag, MPI_Comm comm) {
  if (all.lines == nullptr || peer < 0) return;
  const int to = in_world(peer, comm);
  if (to == all.rank || to < 0) return;
  const std::size_t i = index(all.rank, to, tag);
  line& l = all.lines[i];
  const std::uint32_t n = l.sent++;
  all.sizes[i * most_sizes + n % most_sizes] = static_cast<std::int32_t>(std::min<std::int64_t>(bytes, INT32_MAX));
  if (l.waiting.fetch_add(1) < 0 || bytes == 0) return;
  of_rank& there = all.totals[to];
  of_rank& here = all.totals[all.rank];
  raise(there.most_unexpected, ++there.unexpected);
  raise(there.most_bytes, there.bytes += bytes);
  raise(here.most_untaken, ++here.untaken);
}

void asked(int peer, int tag, MPI_Comm comm) {
  if (all.lines == nullptr || peer < 0) return;
  const int from = in_world(peer, comm);
  if (from == all.rank || from < 0) return;
  const std::size_t i = index(from, all.rank, tag);
  line& l = all.lines[i];
  const std::uint32_t n = l.asked++;
  if (l.waiting.fetch_sub(1) <= 0) return;
  const std::int32_t bytes = all.sizes[i * most_sizes + n % most_sizes];
  if (bytes == 0) return;
  --all.totals[all.rank].unexpected;
  all.totals[all.rank].bytes -= bytes;
  --all.totals[from].untaken;
}

void keep(MPI_Request request, const prepared& what) {
  const std::scoped_lock lock(guard);
  persistent[request] = what;
}

void started(MPI_Request request) {
  prepared p{};
  {
    const std::scoped_lock lock(guard);
    const auto found = persistent.find(request);
    if (found == persistent.end()) return;
    p = found->second;
  }
  p.sends ? sent(p.bytes, p.peer, p.tag, p.comm) : asked(p.peer, p.tag, p.comm);
}

void allocate() {
  PMPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &all.ranks);
  const auto p = static_cast<std::size_t>(all.ranks);
  const std::size_t lines = p * p * most_tags;
  const std::size_t bytes = p * sizeof(of_rank) + lines * (sizeof(line) + most_sizes * sizeof(std::int32_t));
  void* mine = nullptr;
  PMPI_Win_allocate_shared(all.rank == 0 ? static_cast<MPI_Aint>(bytes) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                           &all.window);
  MPI_Aint size = 0;
  int unit = 1;
  PMPI_Win_shared_query(all.window, 0, &size, &unit, &mine);
  all.totals = static_cast<of_rank*>(mine);
  auto* const lines_at = reinterpret_cast<line*>(all.totals + p);
  all.sizes = reinterpret_cast<std::int32_t*>(lines_at + lines);
  all.lines = lines_at;
}

}  // namespace

void begin() {
  if (all.window == MPI_WIN_NULL) allocate();
  PMPI_Barrier(MPI_COMM_WORLD);
  if (all.rank == 0) {
    const auto p = static_cast<std::size_t>(all.ranks);
    for (std::size_t i = 0; i < p; ++i) new (all.totals + i) of_rank;
    for (std::size_t i = 0; i < p * p * most_tags; ++i)
      if (all.lines[i].sent.load() != 0 || all.lines[i].asked.load() != 0) new (all.lines + i) line;
  }
  PMPI_Barrier(MPI_COMM_WORLD);
}

peaks now() {
  const of_rank& r = all.totals[all.rank];
  return {r.most_unexpected.load(), r.most_bytes.load(), r.most_untaken.load()};
}

std::int64_t left() { return all.totals[all.rank].unexpected.load(); }

}  // namespace taquin::test::flood

using namespace taquin::test;

#define TAQUIN_COUNTED(name, parameters, arguments, before, after)                                  \
  extern "C" int PMPI_##name parameters {                                                           \
    static auto* const next = reinterpret_cast<int(*) parameters>(dlsym(RTLD_NEXT, "PMPI_" #name)); \
    before;                                                                                         \
    const int code = next arguments;                                                                \
    after;                                                                                          \
    return code;                                                                                    \
  }

TAQUIN_COUNTED(Isend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, to, tag, c, r), flood::sent(flood::bytes_of(n, t), to, tag, c), )
TAQUIN_COUNTED(Issend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, to, tag, c, r), flood::sent(flood::bytes_of(n, t), to, tag, c), )
TAQUIN_COUNTED(Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c),
               flood::sent(flood::bytes_of(n, t), to, tag, c), )
TAQUIN_COUNTED(Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, from, tag, c, r), , flood::asked(from, tag, c))
TAQUIN_COUNTED(Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
               (b, n, t, from, tag, c, s), flood::asked(from, tag, c), )
TAQUIN_COUNTED(Send_init, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, to, tag, c, r), , flood::keep(*r, {true, flood::bytes_of(n, t), to, tag, c}))
TAQUIN_COUNTED(Recv_init, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
               (b, n, t, from, tag, c, r), , flood::keep(*r, {false, 0, from, tag, c}))
TAQUIN_COUNTED(Start, (MPI_Request * r), (r), flood::started(*r), )
