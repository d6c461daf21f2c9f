#include "interpose/serve/cold_calls.hpp"

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

// A handle may mean another communicator once this has grown.
std::atomic<std::uint64_t> freed{0};

int on_delete(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<int*>(value);
  freed.fetch_add(1, std::memory_order_release);
  return MPI_SUCCESS;
}

const mpi::attribute<int>& counts() {
  static const mpi::attribute<int> all(on_delete);
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
  int* made = counts().find(comm);
  if (made == nullptr) counts().set(comm, made = new int(0));
  const bool cold = *made < most_cold_calls;
  if (cold) ++*made;
  if (!cold) last = {comm, now};
  return detail::route_of({.cold = cold}, detail::call_use::blocking) == detail::route::library;
}

}  // namespace taquin::interpose
