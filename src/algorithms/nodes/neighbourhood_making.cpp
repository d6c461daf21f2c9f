// How ranks make the memory of their slots.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "algorithms/nodes/neighbourhood.hpp"
#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/collectives.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t least_page = 4096;

bool has_no_rank_twice(std::span<const int> ranks) {
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::erase(sorted, MPI_PROC_NULL);
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

}  // namespace

std::shared_ptr<neighbourhood> neighbourhood::make(MPI_Comm comm, std::span<const int> sources,
                                                   std::span<const int> destinations) {
#ifdef TAQUIN_SMPI  // simulated ranks are one process, whose time stands still while one of them waits for memory
  static_cast<void>(comm), static_cast<void>(sources), static_cast<void>(destinations);
  return nullptr;
#else
  const mpi::communicator& state = mpi::communicator::of(comm);
  std::shared_ptr<neighbourhood> made;
  bool distinct = false;
  try {
    distinct = has_no_rank_twice(sources) && has_no_rank_twice(destinations);
    made.reset(new neighbourhood);
    made->comm_ = mpi::communicator::of(comm).keep();
    made->in_.resize(sources.size());
    made->arrived_.resize(sources.size());
    made->out_.resize(destinations.size());
  } catch (const std::bad_alloc&) {
    made.reset();
  }
  const int widest = agree(state.get(), made != nullptr && distinct, static_cast<int>(destinations.size()));
  return widest >= 0 && made->map(sources, destinations, static_cast<std::size_t>(widest)) ? made : nullptr;
#endif
}

// The most destinations of a rank, where all ranks take part and are on one machine; otherwise −1.
int neighbourhood::agree(MPI_Comm comm, bool wanted, int destinations) {
  const environment& e = environment::get();
  const auto host = static_cast<std::int64_t>(host_id() >> 1U);
  std::array<std::int64_t, 4> least{wanted && e.shared_memory && e.nodes.empty() ? 1 : 0, host, -host, -destinations};
  mpi::allreduce(std::span<std::int64_t>(least), MPI_MIN, comm);
  return least[0] != 0 && least[1] == -least[2] ? static_cast<int>(-least[3]) : -1;
}

// Each rank has a part of the memory: the ranks of its destinations, −1 behind the last, then an edge for each of them.
bool neighbourhood::map(std::span<const int> sources, std::span<const int> destinations, std::size_t widest) {
  most_in_slot_ = most_in_slot(widest);
  const std::size_t list = up_to_line((widest + 1) * sizeof(int));
  const std::size_t part = list + widest * edge_bytes(most_in_slot_);

  mapping_key key;
  if (comm_->rank() == 0) memory_ = mapping::create(as_size(comm_->size()) * part, key, mapping::pages::in_parts);
  mapping_key shared = key;
  mpi::broadcast(std::span(&shared, 1), 0, comm_->get());
  if (comm_->rank() != 0) memory_ = mapping::attach(shared);
  const auto list_of = [&](int rank) { return reinterpret_cast<int*>(memory_.data() + as_size(rank) * part); };
  const auto edge_of = [&](int rank, std::size_t nth) {
    return memory_.data() + as_size(rank) * part + list + nth * edge_bytes(most_in_slot_);
  };
  for (std::size_t d = 0; !memory_.empty() && d < destinations.size(); ++d)
    out_[d] = {destinations[d], destinations[d] < 0 ? nullptr : edge_of(comm_->rank(), d), {}};
  if (!memory_.empty() && !(mapping::take(memory_.data() + as_size(comm_->rank()) * part, list) && take_first_pages()))
    memory_ = {};
  if (!memory_.empty()) {
    int* const mine = list_of(comm_->rank());
    *std::ranges::copy(destinations, mine).out = -1;
    std::replace(mine, mine + destinations.size(), MPI_PROC_NULL, std::numeric_limits<int>::max());
  }
  const bool mapped = mpi::holds_everywhere(!memory_.empty(), comm_->get());
  mapping::close(key);
  if (!mapped) return false;

  bool known = true;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (sources[s] < 0) continue;
    const int* const begin = list_of(sources[s]);
    const int* at = begin;
    while (*at != comm_->rank() && *at != -1) ++at;
    known = known && *at != -1;
    in_[s] = {sources[s], *at == -1 ? nullptr : edge_of(sources[s], as_size(at - begin)), {}};
  }
  tag_ = tags_.take(*comm_);
  for (auto* const side : {&in_, &out_}) {
    for (edge& e : *side) {
      e.at = e.peer;
      e.tag = tag_;
    }
  }
  return mpi::holds_everywhere(known, comm_->get());
}

// Each rank has a part of the memory: its tag, the notes, then an edge to each rank.
std::size_t neighbourhood::bytes_among_all(int ranks, std::size_t notes) noexcept {
  const std::size_t p = as_size(ranks);
  return p * (cache_line + up_to_line(notes) + p * edge_bytes(most_in_slot(p)));
}

std::shared_ptr<neighbourhood> neighbourhood::among_all(mpi::communicator::lease messages, mapping memory, int rank,
                                                        std::span<const int> places, int tag, std::size_t notes) {
  std::shared_ptr<neighbourhood> made(new neighbourhood);
  const std::size_t p = places.size();
  made->memory_ = std::move(memory);
  made->comm_ = std::move(messages);
  made->most_in_slot_ = most_in_slot(p);
  made->part_ = bytes_among_all(static_cast<int>(p), notes) / p;
  made->tag_ = tag;
  made->arrived_.resize(p);
  const auto edge_of = [&](std::size_t from, std::size_t to) {
    return made->memory_.data() + from * made->part_ + cache_line + up_to_line(notes) +
           to * edge_bytes(made->most_in_slot_);
  };
  std::array<std::size_t, slots> all_taken{};
  all_taken.fill(made->most_in_slot_);
  for (std::size_t i = 0; i < p; ++i) {
    const int peer = static_cast<int>(i);
    made->in_.push_back({peer, edge_of(i, as_size(rank)), {}, places[i], tag});
    made->out_.push_back({peer, edge_of(as_size(rank), i), {}, places[i], 0, all_taken});
  }
  std::byte* const own = made->memory_.data() + as_size(rank) * made->part_;
  std::memset(own, 0, made->part_);  // takes its pages now, not in the first exchanges, which may be timed
  std::memcpy(own, &tag, sizeof tag);
  return made;
}

void neighbourhood::all_have_come() noexcept {
  for (edge& e : out_) std::memcpy(&e.tag, memory_.data() + as_size(e.peer) * part_, sizeof e.tag);
  for (const edge& e : in_)  // maps the pages
    for (std::size_t at = 0; at < edge_bytes(most_in_slot_); at += least_page)
      static_cast<void>(*static_cast<const volatile std::byte*>(e.memory + at));
}

std::byte* neighbourhood::notes(int rank) const noexcept { return memory_.data() + as_size(rank) * part_ + cache_line; }

}  // namespace taquin::detail
