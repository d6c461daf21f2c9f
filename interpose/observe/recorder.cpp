#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "interpose/call_site.hpp"
#include "interpose/event.hpp"
#include "interpose/observe/recorder_state.hpp"
#include "interpose/settings.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/threads.hpp"
#include "node/detect.hpp"

namespace taquin::interpose {

namespace {

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
  TAQUIN_MPI(PMPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int other = 1; other < ranks; ++other) {
    if (first[static_cast<std::size_t>(other)] != other || (rank != 0 && rank != other)) continue;
    double quickest = -1;
    for (int i = 0; i < questions; ++i) {
      double theirs = 0;
      if (rank == 0) {
        TAQUIN_MPI(PMPI_Recv(&theirs, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE));
        theirs = now();
        TAQUIN_MPI(PMPI_Send(&theirs, 1, MPI_DOUBLE, other, 0, comm));
        continue;
      }
      const double requested = now();
      TAQUIN_MPI(PMPI_Send(&theirs, 1, MPI_DOUBLE, 0, 0, comm));
      TAQUIN_MPI(PMPI_Recv(&theirs, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE));
      const double answered = now();
      if (quickest >= 0 && answered - requested >= quickest) continue;
      quickest = answered - requested;
      s.offset = requested + quickest / 2 - theirs;
    }
  }
  TAQUIN_MPI(PMPI_Comm_free(&comm));
}

// The place of a call: that of the communicator's last one, or looked up. MPI's Fortran procedures have none.
const place* from(const call_event& e) {
  observed_comm& c = *e.comm;
  if (c.last_place == nullptr || c.last_place->address != e.site) c.last_place = &place_of(e.site);
  return c.last_place;
}

call_key key_of(const recorder_state& s, const call_event& e, bool in_place, const outcome& o) {
  call_traits traits = e.traits;
  traits.set_in_place(in_place);
  return {s.places ? from(e) : e.site, o.algorithm.data(), e.comm->index, traits, s.in_flight};
}

// The MPI library has done it.
void count_passed_on(recorder_state& s, known_call& k, const outcome& o) {
  if (k.reason != o.reason) known_calls::change_reason(s, k, o.reason);
  ++k.passed_on;
  if (o.trial.library > 0) s.writer.log().sites[k.site].trial = o.trial;
}

void measure(moved& m, const exchange& x, int size, bool receives) {
  m.in_place = x.in_place;
  m.element_bytes = row_of(x.send, size, m.sent);
  if (receives) row_of(x.recv, size, m.received);
}

// The one that is known by this key, or a new one.
[[gnu::noinline]] known_call& known(recorder_state& s, const observed_comm& c, const call_key& key, const exchange& x,
                                    const outcome& o) {
  if (known_call* const k = s.known.find(key, x, s.full)) return *k;
  moved m;
  measure(m, x, c.size, s.full);
  if (known_call* const k = s.known.find(key, m)) return *k;
  known_call& k = s.known.add(s, key, o.algorithm, m);
  k.send_element = x.send.element.size;
  k.receive_element = x.recv.element.size;
  return k;
}

known_call& known(recorder_state& s, const call_event& e, const outcome& o, const moved& m) {
  const call_key key = key_of(s, e, m.in_place, o);
  known_call* const k = s.known.find(key, m);
  return k != nullptr ? *k : s.known.add(s, key, o.algorithm, m);
}

inline void keep(recorder_state& s, const call_event& e, known_call& k, const outcome& o, std::uint64_t ticks) {
  if (s.traced.on()) [[unlikely]] {
    s.traced.keep(s, e, k, o.peak_memory, e.begin + ticks);
    trace::leave();
  }
  const std::uint32_t run = s.known.count(s, k, o.peak_memory);
  k.ticks += ticks;
  k.squares += static_cast<double>(ticks) * static_cast<double>(ticks);
  if (s.records) s.writer.log().took(run, s.clock.seconds(ticks));
  if (o.reason != nullptr) count_passed_on(s, k, o);
  if (e.entry < 0) return;
  open_entry& own = e.comm->open[static_cast<std::size_t>(e.entry)];
  own.run = run;
  own.site = k.site;
  own.seconds = s.clock.seconds(ticks);
}

}  // namespace

// Never destroyed: calls may be made while the program ends.
recorder_state* const recorder_state::one = new recorder_state;
bool observes = false;

void count(other_call what) noexcept {
  recorder_state::get().counts[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
}

const char* keep_reason(const std::string& text) {
  recorder_state& s = recorder_state::get();
  const state_lock lock(s);
  return s.reasons.insert(text).first->c_str();
}

void start_observing() {
  const settings& given = settings::get();
  if (!given.observes()) return;
  taquin::mpi::make_everywhere(MPI_COMM_WORLD, [&] {
    recorder_state& s = recorder_state::get();
    if (!given.record.empty()) s.known.keep_runs();
  });
  recorder_state& s = recorder_state::get();
  int rank = 0;
  s.threads = taquin::mpi::has_many_threads();
  s.full = given.at_end == settings::report::full;
  s.records = !given.record.empty();
  s.places = given.at_end != settings::report::none || !given.trace.empty() || !given.metrics.empty();
  s.clock.start();
  TAQUIN_MPI(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &s.keyval, nullptr));
  TAQUIN_MPI(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
  const auto first = detail::first_ranks_of_machines(MPI_COMM_WORLD);
  s.node = first[static_cast<std::size_t>(rank)];
  compare_clocks(s, rank, first);
  std::vector<double> offsets;
  taquin::mpi::make_everywhere(MPI_COMM_WORLD, [&] { offsets.resize(first.size()); });
  TAQUIN_MPI(PMPI_Allgather(&s.offset, 1, MPI_DOUBLE, offsets.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD));
  s.offset = offsets[static_cast<std::size_t>(s.node)];
  s.begin = now();
  if (!given.trace.empty()) s.traced.start(given.trace_limit / first.size() / bytes_of_a_traced_event);
  observes = true;
}

persistent_call name_persistent(MPI_Comm comm) {
  observed_comm* const c = find(recorder_state::get(), comm, call_form::persistent);
  return {c, c != nullptr ? c->persistent++ : 0};
}

call_event::call_event(const persistent_call& call, call_kind kind, const void* from, std::uint64_t start) noexcept
    : site(from),
      comm(call.comm),
      traits{kind, call_form::persistent},
      begin(recorder_state::get().clock.ticks()),
      number(std::uint64_t{1} << 63U | call.number << 32U | start) {}

call_event::call_event(MPI_Comm on, call_kind kind, call_form form, const void* from)
    : site(from), comm(find(recorder_state::get(), on, form)), traits{kind, form} {
  recorder_state& s = recorder_state::get();
  begin = s.clock.ticks();
  if (comm == nullptr) return;
  if (s.traced.on()) [[unlikely]] {
    number = comm->numbered++;
    s.traced.enter(*this);
  }
  // Only a call that ends on no rank before all have entered makes ranks wait for the last one.
  if (form != call_form::blocking || !waits_for_all(kind)) return;
  observed_comm& c = *comm;
  const std::uint64_t nth = c.calls++;
  if (s.full && kind != call_kind::sparse && c.calls % sampling == 0) traits.sample();
  if (nth >= most_open && nth % sampled_entry != 0) return;
  if (c.open.size() == most_open) {  // all ranks have entered as many calls, whatever their outcome
    report_waiting_apart(c, on);
    begin = s.clock.ticks();
    c.stands_for = sampled_entry;
  }
  entry = static_cast<std::int32_t>(c.open.size());
  c.open.push_back({begin});
}

moved moved_by(const exchange& x) {
  moved m;
  int size = 0;
  TAQUIN_MPI(PMPI_Comm_size(x.comm, &size));
  measure(m, x, size, recorder_state::get().full);
  return m;
}

void call_event::ended(const exchange& x, const outcome& o) {
  if (comm == nullptr) return;
  recorder_state& s = recorder_state::get();
  const std::uint64_t took = s.clock.ticks() - begin;
  const state_lock lock(s);
  const call_key key = key_of(s, *this, x.in_place, o);
  known_call*& last = comm->last;
  if (last == nullptr || !known_calls::is(*last, key, x, s.full)) last = &known(s, *comm, key, x, o);
  keep(s, *this, *last, o, took);
}

void call_event::ended(const outcome& o, const moved& m) {
  if (comm == nullptr) return;
  recorder_state& s = recorder_state::get();
  const std::uint64_t took = s.clock.ticks() - begin;
  const state_lock lock(s);
  keep(s, *this, known(s, *this, o, m), o, took);
}

call_in_flight call_event::started(const outcome& o, const moved& m) {
  if (comm == nullptr) return {};
  recorder_state& s = recorder_state::get();
  const state_lock lock(s);
  known_call& k = known(s, *this, o, m);
  const std::uint32_t run = s.known.count(s, k, o.peak_memory);
  if (o.reason != nullptr) count_passed_on(s, k, o);
  ++s.in_flight;
  std::uint32_t traced = 0;
  if (s.traced.on()) {
    traced = s.traced.keep(s, *this, k, o.peak_memory, 0);
    trace::leave();
  }
  return {true, traits.sampled(), run, k.site, s.clock.seconds(s.clock.ticks() - begin), traced};
}

void call_in_flight::completed() const noexcept {
  if (!known) return;
  recorder_state& s = recorder_state::get();
  const state_lock lock(s);
  --s.in_flight;
  s.traced.completes(traced);
  s.writer.log().took(run, seconds);
  site_log& at = s.writer.log().sites[site];
  at.seconds += seconds;
  at.squares += seconds * seconds;
  if (!sampled) return;
  ++at.sampled;
  at.sampled_seconds += seconds;
  at.sampled_squares += seconds * seconds;
}

}  // namespace taquin::interpose
