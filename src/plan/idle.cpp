#include "plan/idle.hpp"

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/memory_budget.hpp"
#include "exchange/validate.hpp"
#include "mpi/failure.hpp"
#include "node/call_watch.hpp"
#include "plan/library_call.hpp"
#include "plan/plain_call.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

void account_for_library(const exchange& known, int rank, int ranks, std::size_t peak, statistics& s) {
  ++s.starts;
  s.peak_memory = std::max(s.peak_memory, peak);
  s.algorithm = native.name;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank || known.send.bytes(peer) == 0) continue;
    ++s.messages;
    s.bytes_sent += static_cast<std::uint64_t>(known.send.bytes(peer));
  }
  ++s.rounds;
}

void run_idle(const exchange& x, const options& o, int rank, int ranks) {
  if (call_library_for_itself(x, rank, ranks)) {
    if (o.stats != nullptr) {
      ++o.stats->starts;
      o.stats->algorithm = native.name;
    }
    return;
  }
  // Ranks do not agree on such a call, so none can refuse it for want of memory. The thread keeps what it takes.
  constexpr std::size_t alignments = 16 * alignof(std::max_align_t);
  const auto p = static_cast<std::size_t>(ranks);
  thread_local std::vector<std::byte> kept;
  if (const std::size_t needed = bytes_by_types(ranks) + 2 * p * sizeof(element) + alignments; kept.size() < needed)
    kept.resize(needed);
  memory_budget beyond(unlimited);
  std::pmr::monotonic_buffer_resource memory(kept.data(), kept.size(), &beyond);
  exchange known = x;
  std::pmr::vector<element> elements(&memory);
  if (x.kind == exchange::form::alltoallw) known = with_elements(x, ranks, elements);
  if (const auto invalid = validate(known, ranks, &memory))
    throw usage_error(invalid->what, invalid->mpi_class, rank, invalid->peer);
  call_library_by_types(known, ranks, &memory);
  if (o.stats != nullptr) account_for_library(known, rank, ranks, beyond.peak(), *o.stats);
}

namespace {

// The call is of a kind that may be idle. The same on all ranks.
bool may_be_idle(const exchange& x, const options& o) {
  return !x.in_place && plain_environment() && plain(o) && !by_name(o) && patience::of(o).seconds == 0;
}

}  // namespace

bool run_idle_by_messages(const exchange& x, const options& o) {
  mpi::communicator* const comm = mpi::communicator::known(x.comm);
  chooser* const choices = comm == nullptr ? nullptr : chooser::known(*comm);
  if (choices == nullptr) return false;
  const std::uint64_t number = comm->calls().calls.load(std::memory_order_relaxed) + 1;
  if (!choices->idle().covers(number, choices_of(x, false)) || !may_be_idle(x, o)) return false;
  if (const char* const invalid = invalid_exchange::of(x); invalid != nullptr)
    throw usage_error(invalid, MPI_ERR_ARG, comm->rank());
  mpi::count_call(comm->calls());
  const mpi::in_call here(comm->record.get(), facts_of(x));
  constexpr std::uint64_t every = 64;  // asking the MPI library takes longer than such a call
  if (number % every == 0) comm->look_for_leavers();
  run_idle(x, o, comm->rank(), comm->size());
  return true;
}

void note_idle(const exchange& x, const options& o, mpi::communicator& comm, bool moves, std::uint64_t number) {
  chooser* const choices = chooser::known(comm);
  if (choices == nullptr || comm.size() == 1) return;
  choices->idle().note(choices_of(x, false), !moves && may_be_idle(x, o) && !mpi::survives_failures(), number);
}

std::uint64_t number_to_agree_on(const mpi::communicator& comm, std::uint64_t number) noexcept {
  const chooser* const choices = chooser::known(comm);
  return choices == nullptr || choices->idle().period == 0 ? 0 : number;
}

}  // namespace taquin::detail
