#include "interpose/recorder.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <mutex>
#include <numeric>
#include <vector>

#include "interpose/log.hpp"
#include "interpose/message.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"

namespace taquin::interpose {

namespace {

struct state {
  std::mutex mutex;
  log_writer writer;
  int keyval = MPI_KEYVAL_INVALID;
  int named = 0;  // communicators that this rank has named
};

// Never destroyed: calls may come while the program ends.
state& shared() {
  static auto* s = new state;
  return *s;
}

// The world ranks of an intracommunicator's ranks; empty when some process is of another world.
std::vector<int> world_ranks_of(MPI_Comm comm, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> own(ranks.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  TAQUIN_MPI(MPI_Comm_group(comm, &group));
  TAQUIN_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
  TAQUIN_MPI(MPI_Group_translate_ranks(group, size, own.data(), world, ranks.data()));
  TAQUIN_MPI(MPI_Group_free(&group));
  TAQUIN_MPI(MPI_Group_free(&world));
  if (std::ranges::find(ranks, MPI_UNDEFINED) != ranks.end()) ranks.clear();
  return ranks;
}

// The index + 1 in the log is the attribute's value; communicators of several worlds have 0 and are left out.
std::uintptr_t name(MPI_Comm comm, int size) {
  state& s = shared();
  known_comm c;
  c.world_ranks = world_ranks_of(comm, size);
  TAQUIN_MPI(MPI_Comm_rank(comm, &c.rank));
  if (!c.world_ranks.empty()) {
    if (c.rank == 0) {
      const std::lock_guard lock(s.mutex);
      c.id = {c.world_ranks.front(), s.named++};
    }
    int both[] = {c.id.leader, c.id.serial};
    TAQUIN_MPI(PMPI_Bcast(both, 2, MPI_INT, 0, comm));
    c.id = {both[0], both[1]};
  }
  const std::lock_guard lock(s.mutex);
  const std::uintptr_t index = c.world_ranks.empty() ? 0 : s.writer.add_comm(std::move(c)) + 1;
  TAQUIN_MPI(MPI_Comm_set_attr(comm, s.keyval, reinterpret_cast<void*>(index)));
  return index;
}

std::uintptr_t index_of(MPI_Comm comm, int size) {
  state& s = shared();
  {
    const std::lock_guard lock(s.mutex);
    if (s.keyval == MPI_KEYVAL_INVALID)
      TAQUIN_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &s.keyval, nullptr));
  }
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(MPI_Comm_get_attr(comm, s.keyval, static_cast<void*>(&value), &found));
  return found != 0 ? reinterpret_cast<std::uintptr_t>(value) : name(comm, size);
}

void send_all(const std::vector<std::uint8_t>& bytes, MPI_Comm comm) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::uint64_t size = bytes.size();
  TAQUIN_MPI(MPI_Send(&size, 1, MPI_UINT64_T, 0, 0, comm));
  for (std::size_t at = 0; at < bytes.size(); at += most)
    TAQUIN_MPI(MPI_Send(bytes.data() + at, static_cast<int>(std::min(most, bytes.size() - at)), MPI_BYTE, 0, 0, comm));
}

std::vector<std::uint8_t> receive_all(int from, MPI_Comm comm) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::uint64_t size = 0;
  TAQUIN_MPI(MPI_Recv(&size, 1, MPI_UINT64_T, from, 0, comm, MPI_STATUS_IGNORE));
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t at = 0; at < bytes.size(); at += most)
    TAQUIN_MPI(MPI_Recv(bytes.data() + at, static_cast<int>(std::min(most, bytes.size() - at)), MPI_BYTE, from, 0, comm,
                        MPI_STATUS_IGNORE));
  return bytes;
}

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace

void note(const exchange& x, double seconds) {
  int size = 0;
  TAQUIN_MPI(MPI_Comm_size(x.comm, &size));
  const std::uintptr_t index = index_of(x.comm, size);
  if (index == 0) return;
  thread_local std::vector<count_t> row;
  row.resize(static_cast<std::size_t>(size));
  count_t element_bytes = 0;
  for (int peer = 0; peer < size; ++peer) {
    const count_t count = x.send.counts[peer];
    count_t& bytes = row[static_cast<std::size_t>(peer)] = 0;
    if (count <= 0) continue;
    const count_t element = x.send.types != nullptr ? element::of(x.send.types[peer]).size : x.send.element.size;
    bytes = count * element;
    element_bytes = std::gcd(element_bytes, element);
  }
  const std::lock_guard lock(shared().mutex);
  shared().writer.add_call(static_cast<std::uint32_t>(index - 1), static_cast<workloads::call_kind>(x.kind), x.in_place,
                           element_bytes, row, seconds);
}

void write_record() noexcept {
  try {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    TAQUIN_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    TAQUIN_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    TAQUIN_MPI(MPI_Comm_rank(comm, &rank));
    TAQUIN_MPI(MPI_Comm_size(comm, &size));
    rank_log& own = shared().writer.log();
    if (rank > 0) {
      send_all(own.packed(), comm);
    } else {
      own.program = command_line();
      std::vector<rank_log> logs(static_cast<std::size_t>(size));
      for (int from = 1; from < size; ++from)
        logs[static_cast<std::size_t>(from)] = rank_log::unpacked(receive_all(from, comm));
      logs.front() = std::move(own);
      write_traffic(assemble(logs), settings::get().record);
    }
    TAQUIN_MPI(MPI_Comm_free(&comm));
  } catch (const std::exception& e) {
    say(std::string("nothing is recorded: ") + e.what());
  }
}

}  // namespace taquin::interpose
