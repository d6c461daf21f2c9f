#include "interpose/serve/cold_calls.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include "base/environment.hpp"
#include "interpose/serve/site_rules.hpp"
#include "mpi/attribute.hpp"
#include "mpi/failure.hpp"
#include "plan/plain_call.hpp"
#include "route/route.hpp"

namespace taquin::interpose {

namespace {

// A handle may mean another communicator once this has grown. Counting grows it, too, which does no harm.
std::atomic<std::uint64_t> freed{0};

int on_delete(MPI_Comm, int, void*, void*) noexcept {
  freed.fetch_add(1, std::memory_order_release);
  return MPI_SUCCESS;
}

// The number of calls that a communicator has had is the place here that its attribute points to: nothing is allocated,
// because a rank without memory counts as the others.
std::array<char, most_cold_calls + 1> places;

const mpi::attribute<char>& counts() {
  static const mpi::attribute<char> all(on_delete);
  return all;
}

// Most calls are on the same communicator as the call before, and it has had its first ones.
struct warm_last {
  MPI_Comm comm = MPI_COMM_NULL;
  std::uint64_t freed = 0;
};
thread_local warm_last last;

// The same on all ranks.
bool has_cold_calls() {
  static const bool any = [] {
    const detail::environment& e = detail::environment::get();
    return most_cold_calls > 0 && detail::plain_environment() && e.profile.empty() && e.nodes.empty() &&
           e.timeout == 0 && !mpi::survives_failures();
  }();
  return any && !has_site_rules();
}

}  // namespace

bool is_cold(MPI_Comm comm) {
  if (!has_cold_calls()) return false;
  const std::uint64_t now = freed.load(std::memory_order_acquire);
  if (last.comm == comm && last.freed == now) return false;
  const char* const found = counts().find(comm);
  const auto made = found == nullptr ? 0 : found - places.data();
  const bool cold = made < most_cold_calls;
  if (cold) counts().set(comm, &places[static_cast<std::size_t>(made) + 1]);
  if (!cold) last = {comm, now};
  return detail::route_of({.cold = cold}, detail::call_use::blocking) == detail::route::library;
}

}  // namespace taquin::interpose
