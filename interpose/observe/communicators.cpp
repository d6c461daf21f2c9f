// The communicators that a program calls on: their names, and their waiting ranks.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "interpose/observe/recorder_state.hpp"
#include "mpi/check.hpp"

namespace taquin::interpose {

std::vector<int> world_ranks_of(MPI_Comm comm, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> own(ranks.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  TAQUIN_MPI(PMPI_Comm_group(comm, &group));
  TAQUIN_MPI(PMPI_Comm_group(MPI_COMM_WORLD, &world));
  TAQUIN_MPI(PMPI_Group_translate_ranks(group, size, own.data(), world, ranks.data()));
  TAQUIN_MPI(PMPI_Group_free(&group));
  TAQUIN_MPI(PMPI_Group_free(&world));
  if (std::ranges::find(ranks, MPI_UNDEFINED) != ranks.end()) ranks.clear();
  return ranks;
}

namespace {

// The index + 1 in the log is the attribute's value; communicators of several worlds have 0 and are left out. A
// nonblocking call must not wait for another rank here: its communicator's name may arrive later.
std::uintptr_t name(recorder_state& s, MPI_Comm comm, int size, call_form form) {
  known_comm c;
  naming own;
  c.world_ranks = world_ranks_of(comm, size);
  TAQUIN_MPI(PMPI_Comm_rank(comm, &c.rank));
  const bool left_out = c.world_ranks.empty();
  if (!left_out && c.rank == 0) {
    const state_lock lock(s);
    own.name = {c.world_ranks.front(), s.named++};
  }
  if (!left_out && form == call_form::blocking) {
    TAQUIN_MPI(PMPI_Bcast(own.name.data(), 2, MPI_INT, 0, comm));
    c.id = {own.name[0], own.name[1]};
  }
  const state_lock lock(s);
  const std::uintptr_t index = left_out ? 0 : s.writer.add_comm(std::move(c)) + 1;
  if (index > 0) {
    observed_comm& fresh = s.comms.emplace_back();
    fresh.index = static_cast<std::uint32_t>(index - 1);
    fresh.size = size;
    fresh.open.reserve(most_open);
  }
  if (index > 0 && form != call_form::blocking) {
    own.comm = index - 1;
    naming& later = s.names.emplace_back(own);
    TAQUIN_MPI(PMPI_Ibcast(later.name.data(), 2, MPI_INT, 0, comm, &later.request));
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the attribute is a number
  TAQUIN_MPI(PMPI_Comm_set_attr(comm, s.keyval, reinterpret_cast<void*>(index)));
  return index;
}

}  // namespace

observed_comm* look_up(recorder_state& s, MPI_Comm comm, call_form form) {
  int size = 0;
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_size(comm, &size));
  TAQUIN_MPI(PMPI_Comm_get_attr(comm, s.keyval, static_cast<void*>(&value), &found));
  const std::uintptr_t index = found != 0 ? reinterpret_cast<std::uintptr_t>(value) : name(s, comm, size, form);
  const state_lock lock(s);
  s.last_comm = comm;
  s.last_found = index > 0 ? &s.comms[index - 1] : nullptr;
  return s.last_found;
}

// Open MPI must not be left with a collective on a freed communicator. MPICH keeps the communicator for it, and has few
// of them.
void communicator_goes(MPI_Comm comm) {
  recorder_state& s = recorder_state::get();
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(comm, s.keyval, static_cast<void*>(&value), &found));
  if (found == 0) return;
  MPI_Request* name = nullptr;
  {
    const state_lock lock(s);
    const auto index = reinterpret_cast<std::uintptr_t>(value);
    for (naming& n : s.names)
      if (n.comm + 1 == index) name = &n.request;
  }
  if (name != nullptr) TAQUIN_MPI(PMPI_Wait(name, MPI_STATUS_IGNORE));
}

// Calls nothing of MPI: MPICH deletes attributes in the middle of its own calls.
int forget_communicator(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*state*/) {
  recorder_state& s = recorder_state::get();
  const state_lock lock(s);
  s.last_comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

void complete_names(recorder_state& s) {
  for (naming& n : s.names) {
    TAQUIN_MPI(PMPI_Wait(&n.request, MPI_STATUS_IGNORE));
    s.writer.log().comms[n.comm].id = {n.name[0], n.name[1]};
  }
}

void report_waiting_apart(observed_comm& c, MPI_Comm comm) {
  struct last_entry {
    double begin;
    int rank;
  };
  recorder_state& s = recorder_state::get();
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  std::vector<double> own;
  std::vector<last_entry> last;
  {
    const state_lock lock(s);
    s.clock.compare();
    for (const open_entry& e : c.open) {
      own.push_back(s.clock.when(e.begin) - s.offset);
      last.push_back({own.back(), rank});
    }
  }
  std::vector<double> first = own;
  const int n = static_cast<int>(c.open.size());
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, last.data(), n, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, first.data(), n, MPI_DOUBLE, MPI_MIN, comm));
  const state_lock lock(s);
  rank_log& log = s.writer.log();
  for (std::size_t i = 0; i < c.open.size(); ++i) {
    const open_entry& e = c.open[i];
    if (e.run != entry::failed)
      log.waited({own[i], e.run, e.site, c.stands_for, e.seconds}, last[i].begin - own[i], own[i] - first[i],
                 last[i].rank);
  }
  c.open.clear();
}

void keep_open_entries(recorder_state& s) {
  s.clock.compare();
  for (const observed_comm& c : s.comms) {
    auto& open = s.writer.log().open.emplace_back();
    for (const open_entry& e : c.open)
      open.push_back({s.clock.when(e.begin) - s.offset, e.run, e.site, c.stands_for, e.seconds});
  }
}

}  // namespace taquin::interpose
