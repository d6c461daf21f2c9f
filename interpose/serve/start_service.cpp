#include "interpose/serve/start_service.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/sizes.hpp"
#include "interpose/serve/device.hpp"
#include "interpose/serve/kept_service.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/threads.hpp"

namespace taquin::interpose {

using detail::as_size;

namespace {

constexpr int most_ranks = 64;  // with more, slots have room for few bytes

// Several threads could complete exchanges of one communicator at once.
agreed_slots::demands each_with_each(std::size_t ranks, std::size_t notes) {
  agreed_slots::demands d{.edges = {}, .notes = notes, .each_with_each = true, .wanted = !mpi::has_many_threads()};
  d.edges.sources.resize(ranks);
  std::iota(d.edges.sources.begin(), d.edges.sources.end(), 0);
  d.edges.destinations = d.edges.sources;
  return d;
}

}  // namespace

std::shared_ptr<start_service> start_service::of(MPI_Comm comm) {
#if !defined(OPEN_MPI) && !defined(MPICH)  // MPI's standard ABI, with which this is not tested
  return nullptr;
#endif
  if (!agreed_slots::possible() || may_have_device_memory()) return nullptr;
  if (auto found = kept_service<start_service>::find(comm)) return found;
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  if (ranks == 1 || ranks > most_ranks) return nullptr;
  return kept_service<start_service>::keep(comm, std::shared_ptr<start_service>(new start_service(rank, ranks)));
}

void start_service::forget(MPI_Comm comm) { kept_service<start_service>::forget(comm); }

std::size_t start_service::kind_of(const exchange& x) noexcept {
  if (x.kind == exchange::form::alltoallv) return 0;
  if (x.kind == exchange::form::alltoallw) return 1;
  return std::min<std::size_t>(first_kinds + std::bit_width(static_cast<std::uint64_t>(x.send.bytes(0))), kinds - 1);
}

start_service::turn start_service::next(MPI_Comm comm, const exchange& x) {
  if (!slots_.over()) slots_.start(comm, [this] { return each_with_each(ranks(), sizeof(told) * kinds); });
  if (slots() == nullptr) return {};
  // Messages of the MPI library move such blocks either way.
  if (x.kind == exchange::form::alltoall && as_size(x.send.bytes(0)) > slots()->most_in_slot()) return {};
  turn t{.kind = kind_of(x)};
  contest& c = contests_[t.kind];
  if (c.decided && t.kind < first_kinds && ++c.starts == again) c = {.number = c.number + 1, .won = c.won};
  t.by_slots = c.won;
  t.of = c.number;
  if (c.decided) return t;
  const int number = c.starts++;
  if (number == 2 * tries + ahead / 2) tell(t.kind);
  if (number == 2 * tries + ahead) decide(t.kind);
  t.timed = number < 2 * tries;
  t.by_slots = t.timed ? number >= tries : c.won;
  return t;
}

void start_service::took(const turn& t, double seconds) noexcept {
  contest& c = contests_[t.kind];
  if (t.of != c.number) return;
  double& best = t.by_slots ? c.slots : c.library;
  best = std::min(best, seconds);
}

start_service::told::times& start_service::note(int rank, std::size_t kind) const noexcept {
  return reinterpret_cast<told*>(slots()->notes(rank))[kind].last[contests_[kind].number % 2];
}

// Also where this rank has not completed all of them yet.
void start_service::tell(std::size_t kind) noexcept {
  told::times& mine = note(rank_, kind);
  mine.library = contests_[kind].library;
  mine.slots = contests_[kind].slots;
  mine.of.store(contests_[kind].number, std::memory_order_release);
}

void start_service::decide(std::size_t kind) {
  contest& c = contests_[kind];
  double library = 0;
  double slots = 0;
  for (std::size_t r = 0; r < ranks(); ++r) {
    const told::times& one = note(static_cast<int>(r), kind);
    mpi::backoff waiting(agreed_slots::messages().get(), slots_.tag(), nullptr);
    while (one.of.load(std::memory_order_acquire) != c.number) waiting.pause();
    library = std::max(library, one.library);
    slots = std::max(slots, one.slots);
  }
  c.decided = true;
  c.starts = 0;
  c.won = slots < library;
}

outcome start_service::by_slots() const { return {"neighbour_slots", {}, slots()->memory()}; }

}  // namespace taquin::interpose
