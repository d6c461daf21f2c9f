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
  std::shared_ptr<start_service> made(new start_service(rank, ranks));
  if (!agreed_slots::on_one_node(comm)) made->slots_.give_up();
  return kept_service<start_service>::keep(comm, std::move(made));
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
  const std::size_t kind = kind_of(x);
  return {contests_[kind].next(
              kind < first_kinds, [&](const start_contest::times& mine) { tell(kind, mine); },
              [&] { return slowest(kind); }),
          kind};
}

void start_service::took(const turn& t, double seconds) noexcept { contests_[t.kind].took(t, seconds); }

start_service::told::entry& start_service::note(int rank, std::size_t kind) const noexcept {
  return reinterpret_cast<told*>(slots()->notes(rank))[kind].last[contests_[kind].number() % 2];
}

void start_service::tell(std::size_t kind, const start_contest::times& mine) noexcept {
  told::entry& note_of_mine = note(rank_, kind);
  note_of_mine.times = mine;
  note_of_mine.of.store(contests_[kind].number(), std::memory_order_release);
}

start_contest::times start_service::slowest(std::size_t kind) const {
  start_contest::times slowest{.library = 0, .slots = 0};
  for (std::size_t r = 0; r < ranks(); ++r) {
    const told::entry& one = note(static_cast<int>(r), kind);
    mpi::backoff waiting(agreed_slots::messages().get(), slots_.tag(), nullptr);
    while (one.of.load(std::memory_order_acquire) != contests_[kind].number()) waiting.pause();
    slowest.library = std::max(slowest.library, one.times.library);
    slowest.slots = std::max(slowest.slots, one.times.slots);
  }
  return slowest;
}

outcome start_service::by_slots() const { return {"neighbour_slots", {}, slots()->memory()}; }

}  // namespace taquin::interpose
