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
#include <string>
#include <string_view>

#include "harness/message_counts.hpp"
#include "origins.hpp"

namespace taquin::in_flight {

namespace {

using counts = harness::message_counts<void*, 64, 128>;
counts all;

struct common {
  std::atomic<int> arrived, turn, counting;
};
struct shared {
  int rank = 0, ranks = 1;
  common* all = nullptr;
};
shared s;

std::string_view wanted;  // empty: all

bool counting() { return s.all != nullptr && s.all->counting.load() != 0; }
bool counts_now(int tag, MPI_Comm c) {
  if (!counting()) return false;
  const std::string_view origin = origin_of(tag, c);  // also if all are counted: it needs the tag
  return wanted.empty() || origin == wanted;
}

void sent(std::size_t n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  if (counts_now(tag, c)) all.sent(counts::bytes_of(n, t), to, tag, c);
}
void requested(int from, int tag, MPI_Comm c) {
  if (counts_now(tag, c)) all.requested(from, tag, c);
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
  sent(n, t, to, tag, c);
  return call(isend, b, n, t, to, tag, mode, c, r);
}
int my_send(const void* b, std::size_t n, MPI_Datatype t, int to, int tag, int mode, MPI_Comm c) {
  sent(n, t, to, tag, c);
  return call(send, b, n, t, to, tag, mode, c);
}
int my_irecv(void* b, std::size_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, void** r) {
  const int code = call(irecv, b, n, t, from, tag, c, r);
  requested(from, tag, c);
  return code;
}
int my_recv(void* b, std::size_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* status) {
  requested(from, tag, c);
  return call(recv, b, n, t, from, tag, c, status);
}
int my_isend_init(const void* b, std::size_t n, MPI_Datatype t, int to, int tag, int mode, MPI_Comm c, void** r) {
  const int code = call(isend_init, b, n, t, to, tag, mode, c, r);
  all.keep(*r, {true, counts::bytes_of(n, t), to, tag, c});
  return code;
}
int my_irecv_init(void* b, std::size_t n, MPI_Datatype t, int from, int tag, MPI_Comm c, void** r) {
  const int code = call(irecv_init, b, n, t, from, tag, c, r);
  all.keep(*r, {false, 0, from, tag, c});
  return code;
}
int my_start(std::size_t n, void** r) {
  const bool all_wanted = wanted.empty() || wanted == own_messages;
  for (std::size_t k = 0; counting() && all_wanted && k < n; ++k) all.started(r[k]);
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
  constexpr std::size_t head = 64;
  static_assert(sizeof(common) <= head);
  const std::size_t bytes = head + counts::memory(s.ranks);
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
  all.attach(static_cast<std::byte*>(at) + head, s.rank, s.ranks);
  s.all = static_cast<common*>(at);
  return true;
}

// Without messages.
void barrier() {
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

void begin(std::string_view origin) {
  barrier();
  wanted = origin;
  all.clear_mine();
  barrier();
  if (s.rank == 0) s.all->counting = 1;
  barrier();
}

peaks end() {
  barrier();
  if (s.rank == 0) s.all->counting = 0;
  barrier();
  peaks most;
  for (int rank = 0; rank < s.ranks; ++rank) {
    const counts::of_rank& r = all.of(rank);
    most.messages = std::max(most.messages, r.most_messages.load());
    most.bytes = std::max(most.bytes, r.most_bytes.load());
    most.untaken = std::max(most.untaken, r.most_untaken.load());
  }
  barrier();
  return most;
}

}  // namespace taquin::in_flight
