#include "interpose/observe/trace.hpp"

#include <algorithm>

#include "interpose/event.hpp"
#include "interpose/observe/known_calls.hpp"
#include "interpose/observe/recorder_state.hpp"
#include "mpi/check.hpp"

namespace taquin::interpose {

namespace {

// The call that this thread is in.
struct current_call {
  bool any = false;
  std::uint32_t comm = 0;
  std::uint64_t number = 0;
};
constinit thread_local current_call current;

std::uint64_t now_in_ticks() noexcept { return recorder_state::get().clock.ticks(); }

int communicator_is_gone(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*state*/) {
  recorder_state& s = recorder_state::get();
  const state_lock lock(s);
  s.traced.forget_communicator();
  return MPI_SUCCESS;
}

}  // namespace

void trace::start(std::size_t most) {
  TAQUIN_MPI(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, communicator_is_gone, &keyval_, nullptr));
  events_ = std::make_unique_for_overwrite<traced_event[]>(most);  // NOLINT(modernize-avoid-c-arrays)
  most_ = most;
  detail::activity_observer = this;
}

void trace::enter(const call_event& e) noexcept { current = {true, e.comm->index, e.number}; }

void trace::leave() noexcept { current.any = false; }

// 1 + its place; 0 where there is no room.
std::uint32_t trace::add(const traced_event& e) noexcept {
  const std::size_t at = wanted_.fetch_add(1, std::memory_order_relaxed);
  if (at >= most_) return 0;
  events_[at] = e;
  return static_cast<std::uint32_t>(at + 1);
}

std::uint32_t trace::keep(recorder_state& s, const call_event& e, known_call& k, std::size_t memory,
                          std::uint64_t end) {
  if (k.traced == 0 && wanted_.load(std::memory_order_relaxed) < most_) {
    auto& all = s.writer.log().traced;
    all.push_back({k.site, k.what.row, std::string(k.algorithm)});
    k.traced = static_cast<std::uint32_t>(all.size());
  }
  const bool over = e.traits.form() == call_form::blocking;
  return add({e.begin, end, e.number, memory, k.traced - 1, -1, 0,
              over ? traced_event::kind::call : traced_event::kind::in_flight});
}

std::uint32_t trace::begins(std::size_t round) noexcept {
  if (!current.any) return 0;
  return add({now_in_ticks(), 0, current.number, round, current.comm, -1, 0, traced_event::kind::round});
}

const std::vector<int>& trace::world_ranks(MPI_Comm comm) {
  if (comm == last_comm_) return *last_ranks_;
  void* value = nullptr;
  int found = 0;
  TAQUIN_MPI(PMPI_Comm_get_attr(comm, keyval_, static_cast<void*>(&value), &found));
  if (found == 0) {
    int size = 0;
    TAQUIN_MPI(PMPI_Comm_size(comm, &size));
    value = &ranks_.emplace_back(world_ranks_of(comm, size));
    TAQUIN_MPI(PMPI_Comm_set_attr(comm, keyval_, value));
  }
  last_comm_ = comm;
  last_ranks_ = static_cast<const std::vector<int>*>(value);
  return *last_ranks_;
}

std::uint32_t trace::posts(direction which, MPI_Comm comm, int peer, int tag, std::uint64_t bytes) noexcept {
  if (!current.any) return 0;
  try {
    const state_lock lock(recorder_state::get());
    const auto& ranks = world_ranks(comm);
    if (static_cast<std::size_t>(peer) >= ranks.size()) return 0;
    return add({now_in_ticks(), 0, current.number, bytes, current.comm, ranks[static_cast<std::size_t>(peer)], tag,
                which == direction::sends ? traced_event::kind::send : traced_event::kind::receive});
  } catch (...) {  // the exchange continues without it
    return 0;
  }
}

void trace::completes(std::uint32_t reported) noexcept {
  if (reported > 0) events_[reported - 1].end = now_in_ticks();
}

void trace::hand_over(recorder_state& s, rank_log& log) {
  if (!on()) return;
  detail::activity_observer = nullptr;
  TAQUIN_MPI(PMPI_Comm_free_keyval(&keyval_));
  const std::size_t wanted = wanted_.load();
  const std::size_t kept = std::min(wanted, most_);
  log.untraced = wanted - kept;
  constexpr double giga = 1e9;
  const auto nanoseconds = [&](std::uint64_t ticks) {
    return static_cast<std::uint64_t>(std::max(0.0, (s.clock.placed(ticks) - s.offset) * giga));
  };
  log.events.reserve(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    traced_event e = events_[i];
    if (e.end == 0) continue;  // it failed, or goes on
    e.begin = nanoseconds(e.begin);
    e.end = std::max(e.begin, nanoseconds(e.end));
    log.events.push_back(e);
  }
  events_.reset();
}

}  // namespace taquin::interpose
