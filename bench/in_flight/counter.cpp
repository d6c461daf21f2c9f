#include "counter.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace taquin::in_flight {

namespace {

constexpr std::size_t most_tags = 64;  // tags share counters by their remainder
constexpr std::size_t ring = 512;      // messages of one sender and tag that nobody has asked for

// One sender's messages of one tag to one receiver: sent minus asked for, and their bytes in turn.
struct line {
  std::atomic<std::int32_t> waiting;
  std::atomic<std::uint32_t> sent, asked;
  std::array<std::uint32_t, ring> bytes;
};
struct of_rank {
  std::atomic<std::int64_t> messages, bytes, untaken;
  std::atomic<std::int64_t> most_messages, most_bytes, most_untaken;
};
struct common {
  std::atomic<int> arrived, turn, counts;
};

struct shared {
  int rank = 0, ranks = 1;
  common* all = nullptr;
  of_rank* totals = nullptr;
  line* lines = nullptr;  // pages that nobody touches take no memory
};
shared s;

struct prepared {
  bool sends;
  std::size_t bytes;
  int peer, tag;
  MPI_Comm comm;
};
std::map<void*, prepared> persistent;
std::mutex guard;

void raise(std::atomic<std::int64_t>& most, std::int64_t value) {
  std::int64_t known = most.load();
  while (known < value && !most.compare_exchange_weak(known, value)) {
  }
}

// Those of senders to one receiver stand side by side: a pair of ranks uses few tags.
line& line_of(int from, int to, int tag) {
  const auto p = static_cast<std::size_t>(s.ranks);
  const std::size_t t = static_cast<unsigned>(tag) % most_tags;
  return s.lines[(static_cast<std::size_t>(to) * most_tags + t) * p + static_cast<std::size_t>(from)];
}

int in_world(int rank, MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  if (size == s.ranks) return rank;  // in the order of the world, in this program
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

std::size_t bytes_of(std::size_t count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * static_cast<std::size_t>(size);
}

bool counts(int peer) { return s.all != nullptr && s.all->counts.load() != 0 && peer >= 0; }

void sent(std::size_t bytes, int peer, int tag, MPI_Comm comm) {
  if (!counts(peer)) return;
  const int to = in_world(peer, comm);
  if (to == s.rank || to < 0) return;
  line& l = line_of(s.rank, to, tag);
  l.bytes[l.sent++ % ring] = static_cast<std::uint32_t>(bytes);
  if (l.waiting.fetch_add(1) < 0 || bytes == 0) return;
  of_rank& there = s.totals[to];
  of_rank& here = s.totals[s.rank];
  raise(there.most_messages, ++there.messages);
  raise(there.most_bytes, there.bytes += static_cast<std::int64_t>(bytes));
  raise(here.most_untaken, ++here.untaken);
}

void asked(int peer, int tag, MPI_Comm comm) {
  if (!counts(peer)) return;
  const int from = in_world(peer, comm);
  if (from == s.rank || from < 0) return;
  line& l = line_of(from, s.rank, tag);
  const std::uint32_t n = l.asked++;
  if (l.waiting.fetch_sub(1) <= 0) return;
  const std::int64_t bytes = l.bytes[n % ring];
  if (bytes == 0) return;
  --s.totals[s.rank].messages;
  s.totals[s.rank].bytes -= bytes;
  --s.totals[from].untaken;
}

void keep(void* request, const prepared& what) {
  const std::scoped_lock lock(guard);
  persistent[request] = what;
}

void started(void* request) {
  prepared p{};
  {
    const std::scoped_lock lock(guard);
    const auto found = persistent.find(request);
    if (found == persistent.end()) return;
    p = found->second;
  }
  p.sends ? sent(p.bytes, p.peer, p.tag, p.comm) : asked(p.peer, p.tag, p.comm);
}

// ---- The table ----

// Where the functions stand in it, in Open MPI 4 and 5.
enum place : std::uint8_t { irecv_init = 6, irecv, recv, isend_init, isend, send, start = 14, places };
constexpr std::array<std::string_view, places> ends{
    "", "", "", "", "", "", "_irecv_init", "_irecv", "_recv", "_isend_init", "_isend", "_send", "", "", "_start"};
std::array<void*, places> real{};

template <class... Arguments>
int call(place which, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(real[which])(arguments...);
}

int my_isend(const void* b, std::size_t n, MPI_Datatype t, int to, int tag, int mode, MPI_Comm c, void** r) {
  sent(bytes_of(n, t), to, tag, c);
  return call(isend, b, n, t, to, tag, mode, c, r);
}
int my_send(const void* b, std::size_t n, MPI_Datatype t, int to, int tag, int mode, MPI_Comm c) {
  sent(bytes_of(n, t), to, tag, c);
  return call(send, b, n, t, to, tag, mode, c);
}
int my_irecv(void* b, std::size_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, void** r) {
  const int code = call(irecv, b, n, t, from, tag, c, r);
  asked(from, tag, c);
  return code;
}
int my_recv(void* b, std::size_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* status) {
  asked(from, tag, c);
  return call(recv, b, n, t, from, tag, c, status);
}
int my_isend_init(const void* b, std::size_t n, MPI_Datatype t, int to, int tag, int mode, MPI_Comm c, void** r) {
  const int code = call(isend_init, b, n, t, to, tag, mode, c, r);
  keep(*r, {true, bytes_of(n, t), to, tag, c});
  return code;
}
int my_irecv_init(void* b, std::size_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, void** r) {
  const int code = call(irecv_init, b, n, t, from, tag, c, r);
  keep(*r, {false, 0, from, tag, c});
  return code;
}
int my_start(std::size_t n, void** r) {
  for (std::size_t k = 0; k < n; ++k) started(r[k]);
  return call(start, n, r);
}

bool take_places() {
  auto** const table = static_cast<void**>(dlsym(RTLD_DEFAULT, "mca_pml"));
  if (table == nullptr) return false;
  for (std::size_t k = 0; k < places; ++k) {
    Dl_info known{};
    if (ends[k].empty()) continue;
    if (dladdr(table[k], &known) == 0 || known.dli_sname == nullptr ||
        !std::string_view(known.dli_sname).ends_with(ends[k]))
      return false;
    real[k] = table[k];
  }
  table[isend] = reinterpret_cast<void*>(my_isend);
  table[send] = reinterpret_cast<void*>(my_send);
  table[irecv] = reinterpret_cast<void*>(my_irecv);
  table[recv] = reinterpret_cast<void*>(my_recv);
  table[isend_init] = reinterpret_cast<void*>(my_isend_init);
  table[irecv_init] = reinterpret_cast<void*>(my_irecv_init);
  table[start] = reinterpret_cast<void*>(my_start);
  return true;
}

// ---- Memory that all ranks have ----

bool map_memory() {
  const auto p = static_cast<std::size_t>(s.ranks);
  const std::size_t head = sizeof(common) + p * sizeof(of_rank);
  const std::size_t bytes = head + p * p * most_tags * sizeof(line);
  int number = s.rank == 0 ? static_cast<int>(getpid()) : 0;
  PMPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string name = fmt::format("/taquin_in_flight_{}", number);
  int file = -1;
  if (s.rank == 0) {
    file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) file = -1;
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (s.rank != 0) file = shm_open(name.c_str(), O_RDWR, 0600);
  void* const at =
      file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (file >= 0) close(file);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) shm_unlink(name.c_str());
  if (at == MAP_FAILED) return false;
  s.totals = reinterpret_cast<of_rank*>(static_cast<std::byte*>(at) + sizeof(common));
  s.lines = reinterpret_cast<line*>(static_cast<std::byte*>(at) + head);
  s.all = static_cast<common*>(at);
  return true;
}

// Without messages.
void meet() {
  const int turn = s.all->turn.load();
  if (++s.all->arrived == s.ranks) {
    s.all->arrived = 0;
    ++s.all->turn;
  }
  while (s.all->turn.load() == turn) sched_yield();
}

}  // namespace

bool install() {
  PMPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  int good = map_memory() ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (good != 0 && !take_places()) good = 0;
  PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return good != 0;
}

void begin() {
  meet();
  of_rank& mine = s.totals[s.rank];
  new (&mine) of_rank{};
  for (int from = 0; from < s.ranks; ++from)
    for (int tag = 0; tag < static_cast<int>(most_tags); ++tag) {
      line& l = line_of(from, s.rank, tag);
      if (l.sent.load() == 0 && l.asked.load() == 0) continue;
      l.waiting = 0;
      l.sent = l.asked = 0;
    }
  meet();
  if (s.rank == 0) s.all->counts = 1;
  meet();
}

peaks end() {
  meet();
  if (s.rank == 0) s.all->counts = 0;
  meet();
  peaks most;
  for (int rank = 0; rank < s.ranks; ++rank) {
    const of_rank& r = s.totals[rank];
    most.messages = std::max(most.messages, r.most_messages.load());
    most.bytes = std::max(most.bytes, r.most_bytes.load());
    most.untaken = std::max(most.untaken, r.most_untaken.load());
  }
  meet();
  return most;
}

}  // namespace taquin::in_flight
