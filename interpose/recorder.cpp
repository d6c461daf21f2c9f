#include "interpose/recorder.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

#include "interpose/call_site.hpp"
#include "interpose/message.hpp"
#include "interpose/recorder_state.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "node/detect.hpp"

namespace taquin::interpose {

namespace {

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

// The index + 1 in the log is the attribute's value; communicators of several worlds have 0 and are left out. A call
// that waits for no other rank must not do so here: its communicator's name may come later.
std::uintptr_t name(MPI_Comm comm, int size, call_form form) {
  recorder_state& s = recorder_state::get();
  known_comm c;
  naming own;
  c.world_ranks = world_ranks_of(comm, size);
  TAQUIN_MPI(MPI_Comm_rank(comm, &c.rank));
  const bool left_out = c.world_ranks.empty();
  if (!left_out && c.rank == 0) {
    const std::lock_guard lock(s.mutex);
    own.name = {c.world_ranks.front(), s.named++};
  }
  if (!left_out && form == call_form::blocking) {
    TAQUIN_MPI(MPI_Bcast(own.name.data(), 2, MPI_INT, 0, comm));
    c.id = {own.name[0], own.name[1]};
  }
  const std::lock_guard lock(s.mutex);
  const std::uintptr_t index = left_out ? 0 : s.writer.add_comm(std::move(c)) + 1;
  if (index > 0) {
    s.open.emplace_back().reserve(most_open);
    s.calls.push_back(0);
  }
  if (index > 0 && form != call_form::blocking) {
    own.comm = index - 1;
    naming& later = s.names.emplace_back(own);
    TAQUIN_MPI(PMPI_Ibcast(later.name.data(), 2, MPI_INT, 0, comm, &later.request));
  }
  TAQUIN_MPI(MPI_Comm_set_attr(comm, s.keyval, reinterpret_cast<void*>(index)));
  return index;
}

std::uintptr_t index_of(MPI_Comm comm, int size, call_form form) {
  recorder_state& s = recorder_state::get();
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(MPI_Comm_get_attr(comm, s.keyval, static_cast<void*>(&value), &found));
  return found != 0 ? reinterpret_cast<std::uintptr_t>(value) : name(comm, size, form);
}

// All ranks have made as many calls on the communicator: who was last in each of them.
void tell_waiting_apart(std::size_t comm_index, MPI_Comm comm) {
  struct last_entry {
    double begin;
    int rank;
  };
  recorder_state& s = recorder_state::get();
  auto& open = s.open[comm_index];
  int rank = 0;
  TAQUIN_MPI(MPI_Comm_rank(comm, &rank));
  std::vector<last_entry> last;
  std::vector<double> first;
  for (const entry& e : open) {
    last.push_back({e.begin, rank});
    first.push_back(e.begin);
  }
  const int n = static_cast<int>(open.size());
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, last.data(), n, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, first.data(), n, MPI_DOUBLE, MPI_MIN, comm));
  const std::lock_guard lock(s.mutex);
  rank_log& log = s.writer.log();
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i].run == entry::failed) continue;
    const double waited = last[i].begin - open[i].begin;
    log.runs[open[i].run].waiting += waited;
    site_log& site = log.sites[open[i].site];
    site.waiting += waited;
    site.arrival += open[i].begin - first[i];
    ++site.arrivals;
    site.waited_for[last[i].rank] += waited;
  }
  open.clear();
}

std::uint32_t site_index(std::uint32_t comm, workloads::call_kind kind, call_form form, const void* address) {
  recorder_state& s = recorder_state::get();
  static const place nowhere;
  const place& from = settings::get().at_end == settings::report::full ? place_of(address) : nowhere;
  const recorder_state::site_key key{&from, comm, kind, form};
  if (key == s.last_site.first) return s.last_site.second;
  const auto [found, fresh] = s.sites.try_emplace(key, static_cast<std::uint32_t>(s.writer.log().sites.size()));
  if (fresh) {
    site_log& site = s.writer.log().sites.emplace_back();
    site.object = from.object;
    site.offset = from.offset;
    site.comm = comm;
    site.kind = kind;
    site.form = form;
  }
  s.last_site = {key, found->second};
  return found->second;
}

// Mostly one algorithm does all calls of a site.
void count_algorithm(std::uint32_t site, std::string_view name) {
  recorder_state& s = recorder_state::get();
  auto& last = s.last_algorithm;
  if (last.calls == nullptr || last.site != site || last.name != name)
    last = {site, name, &s.writer.log().sites[site].algorithms[std::string(name)]};
  ++*last.calls;
}

// Bytes to each peer, and the greatest size that divides all elements.
count_t row_of(const blocks& side, int size, std::vector<count_t>& row) {
  row.resize(static_cast<std::size_t>(size));
  count_t element_bytes = 0;
  for (int peer = 0; peer < size; ++peer) {
    const count_t count = side.counts.missing() ? 0 : side.counts[peer];
    count_t& bytes = row[static_cast<std::size_t>(peer)] = 0;
    if (count <= 0) continue;
    const count_t element = side.types != nullptr ? element::of(side.types[peer]).size : side.element.size;
    bytes = count * element;
    element_bytes = std::gcd(element_bytes, element);
  }
  return element_bytes;
}

// The first rank of each node asks rank 0 for its time; the quickest of several answers counts.
void compare_clocks(recorder_state& s, int rank, const std::vector<int>& first) {
  constexpr int questions = 10;
  const int ranks = static_cast<int>(first.size());
  MPI_Comm comm = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int other = 1; other < ranks; ++other) {
    if (first[static_cast<std::size_t>(other)] != other || (rank != 0 && rank != other)) continue;
    double quickest = -1;
    for (int i = 0; i < questions; ++i) {
      double theirs = 0;
      if (rank == 0) {
        TAQUIN_MPI(MPI_Recv(&theirs, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE));
        theirs = now();
        TAQUIN_MPI(MPI_Send(&theirs, 1, MPI_DOUBLE, other, 0, comm));
        continue;
      }
      const double asked = now();
      TAQUIN_MPI(MPI_Send(&theirs, 1, MPI_DOUBLE, 0, 0, comm));
      TAQUIN_MPI(MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE));
      const double answered = now();
      if (quickest >= 0 && answered - asked >= quickest) continue;
      quickest = answered - asked;
      s.offset = asked + quickest / 2 - theirs;
    }
  }
  TAQUIN_MPI(MPI_Comm_free(&comm));
}

void took(site_log& site, double seconds, bool sampled) {
  site.seconds += seconds;
  if (!sampled) return;
  ++site.sampled;
  site.sampled_seconds += seconds;
}

}  // namespace

// Never destroyed: calls may come while the program ends.
recorder_state& recorder_state::get() {
  static auto* s = new recorder_state;
  return *s;
}

bool observing() noexcept {
  const settings& s = settings::get();
  return !s.record.empty() || s.at_end != settings::report::none;
}

void count(other_call what) noexcept {
  recorder_state::get().counts[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
}

void start_observing() {
  recorder_state& s = recorder_state::get();
  int rank = 0;
  TAQUIN_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &s.keyval, nullptr));
  TAQUIN_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  const auto first = detail::first_ranks_of_machines(MPI_COMM_WORLD);
  s.node = first[static_cast<std::size_t>(rank)];
  compare_clocks(s, rank, first);
  std::vector<double> offsets(first.size());
  TAQUIN_MPI(MPI_Allgather(&s.offset, 1, MPI_DOUBLE, offsets.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD));
  s.offset = offsets[static_cast<std::size_t>(s.node)];
  s.begin = now();
}

std::uintptr_t name_communicator(MPI_Comm comm) {
  int size = 0;
  TAQUIN_MPI(MPI_Comm_size(comm, &size));
  return index_of(comm, size, call_form::persistent);
}

observed_call::observed_call(std::uintptr_t named, workloads::call_kind kind, const void* site) noexcept
    : kind_(kind), form_(call_form::persistent), site_(site), comm_(named - 1), known_(named != 0), begin_(now()) {}

observed_call::observed_call(MPI_Comm comm, workloads::call_kind kind, call_form form, const void* site)
    : call_comm_(comm), kind_(kind), form_(form), site_(site) {
  int size = 0;
  TAQUIN_MPI(MPI_Comm_size(comm, &size));
  const std::uintptr_t index = index_of(comm, size, form);
  begin_ = now();
  if (index == 0) return;
  known_ = true;
  comm_ = index - 1;
  // Only a call that ends on no rank before all have begun makes ranks wait for the last one.
  if (form != call_form::blocking || kind > workloads::call_kind::alltoallw) return;
  recorder_state& s = recorder_state::get();
  if (s.open[comm_].size() == most_open) {  // all ranks have begun as many calls, whatever became of them
    tell_waiting_apart(comm_, comm);
    begin_ = now();
  }
  const std::lock_guard lock(s.mutex);
  waits_ = true;
  entry_ = s.open[comm_].size();
  s.open[comm_].push_back({begin_ - s.offset});
  if (settings::get().at_end == settings::report::full) sampled_ = ++s.calls[comm_] % sampling == 0;
}

moved moved_by(const exchange& x) {
  moved m;
  int size = 0;
  TAQUIN_MPI(MPI_Comm_size(x.comm, &size));
  m.in_place = x.in_place;
  m.element_bytes = row_of(x.send, size, m.sent);
  if (settings::get().at_end == settings::report::full) row_of(x.recv, size, m.received);
  return m;
}

void observed_call::end(const exchange& x, const outcome& o) {
  if (!known_) return;
  const double seconds = now() - begin_;
  thread_local moved m;
  int size = 0;
  TAQUIN_MPI(MPI_Comm_size(call_comm_, &size));
  m.in_place = x.in_place;
  m.element_bytes = row_of(x.send, size, m.sent);
  if (settings::get().at_end == settings::report::full) row_of(x.recv, size, m.received);
  end(o, m, seconds);
}

void observed_call::end(const outcome& o, const moved& m) {
  if (known_) end(o, m, now() - begin_);
}

call_in_flight observed_call::begun(const outcome& o, const moved& m) {
  if (!known_) return {};
  recorder_state& s = recorder_state::get();
  const std::lock_guard lock(s.mutex);
  const auto [run, site] = add(o, m);
  ++s.in_flight;
  return {true, sampled_, run, site, now() - begin_};
}

void complete(const call_in_flight& c) noexcept {
  if (!c.known) return;
  recorder_state& s = recorder_state::get();
  const std::lock_guard lock(s.mutex);
  --s.in_flight;
  s.writer.log().runs[c.run].took(c.seconds);
  took(s.writer.log().sites[c.site], c.seconds, c.sampled);
}

void observed_call::end(const outcome& o, const moved& m, double seconds) {
  recorder_state& s = recorder_state::get();
  const std::lock_guard lock(s.mutex);
  const auto [run, site] = add(o, m);
  s.writer.log().runs[run].took(seconds);
  took(s.writer.log().sites[site], seconds, sampled_);
  if (!waits_) return;
  s.open[comm_][entry_].run = run;
  s.open[comm_][entry_].site = site;
}

// The run and the site that its time belongs to.
std::pair<std::uint32_t, std::uint32_t> observed_call::add(const outcome& o, const moved& m) {
  recorder_state& s = recorder_state::get();
  const auto comm = static_cast<std::uint32_t>(comm_);
  const auto run = s.writer.add_call({comm, 0, kind_, m.in_place, form_, s.in_flight, m.element_bytes}, m.sent);
  const auto at = site_index(comm, kind_, form_, site_);
  site_log& site = s.writer.log().sites[at];
  ++site.calls;
  site.bytes += std::accumulate(m.sent.begin(), m.sent.end(), count_t{0});
  site.peak_memory = std::max(site.peak_memory, o.peak_memory);
  count_algorithm(at, o.algorithm.empty() ? std::string_view("native") : o.algorithm);
  if (!o.reason.empty()) ++site.fallbacks[std::string(o.reason)];
  if (settings::get().at_end != settings::report::full) return {run, at};
  site.received += std::accumulate(m.received.begin(), m.received.end(), count_t{0});
  site.flows.resize(m.sent.size());
  for (std::size_t i = 0; i < m.sent.size(); ++i) {
    const count_t bytes = m.sent[i];
    site.flows[i] += bytes;
    ++site.sizes[bytes == 0 ? -1 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1];
  }
  return {run, at};
}

}  // namespace taquin::interpose
