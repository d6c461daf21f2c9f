// One way for every intercepted call: through taquin, or to the MPI library unchanged.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>

#include "interpose/event.hpp"
#include "interpose/reasons.hpp"
#include "interpose/serve/cold_calls.hpp"
#include "interpose/serve/device.hpp"
#include "interpose/serve/next.hpp"
#include "interpose/settings.hpp"
#include "mpi/collectives.hpp"
#include "taquin/error.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// Between MPI_Init and MPI_Finalize, where all ranks agree to, and `comm` an intracommunicator of processes of one
/// MPI_COMM_WORLD. Everything else is the MPI library's.
bool served(MPI_Comm comm) noexcept;

/// From MPI_Init to MPI_Finalize.
void begin_service() noexcept;
bool in_service() noexcept;
void end_service() noexcept;
/// MPI_Pcontrol: to be called by all ranks between the same calls, as it is for other tools.
void switch_service(bool on) noexcept;
/// Reports invalid variables, on rank 0.
void report_warnings() noexcept;

/// The error of an exchange that has a buffer in the memory of a device. Ranks agree on it as on any invalid argument,
/// and then all of them pass the call on to the MPI library.
inline constexpr const char* device_memory = "a buffer in the memory of a device";

/// `x` made invalid by that text where it has such a buffer.
inline exchange off_devices(exchange x) noexcept {
  if (!has_device_runtime()) return x;
  int ranks = 0;
  PMPI_Comm_size(x.comm, &ranks);
  const auto peers = static_cast<std::size_t>(ranks);
  if (in_device_memory(x.recv, peers) || (!x.in_place && in_device_memory(x.send, peers)))
    detail::invalid_exchange::set(x, device_memory);
  return x;
}

/// Runs `x`, which `site` has called, through taquin. False when it must go to the MPI library: no algorithm serves it,
/// the budget is too small, a rank has no memory (these are warned of once), or taquin objects to buffers that the MPI
/// library may accept. All ranks get the same answer. Other errors are thrown. `what` receives the outcome of the call;
/// it may be null.
bool run_through(const exchange& x, const void* site, outcome* what);

/// Prepares `x`, by `make`, under the same rules.
bool make_through(const exchange& x, const void* site, outcome* what, const std::function<void()>& make);

/// Returns the result of `make()`, which is local; null on all ranks where one has no memory for it. Collective.
template <class Make>
auto on_all_ranks_or_none(MPI_Comm comm, Make make) -> decltype(make()) {
  decltype(make()) made;
  try {
    mpi::make_everywhere(comm, [&] { made = make(); });
  } catch (const usage_error& e) {
    if (!e.collective()) throw;
    return nullptr;
  }
  return made;
}

/// An error of this rank alone: the communicator's handler is called with `code`, which is returned.
int raise(MPI_Comm comm, int code) noexcept;

/// The exception that is being handled becomes MPI's error: the communicator's handler is called, its code returned.
/// To be called in a catch block.
int fail(MPI_Comm comm) noexcept;

/// A call that `served` refuses, for a report.
void count_passed_on(workloads::call_form form) noexcept;

/// The frame of every intercepted call: where taquin does not serve the communicator, `native()`;
/// otherwise `work()`, whose exception becomes MPI's error. Their codes.
template <class Native, class Work>
int in_frame(MPI_Comm comm, workloads::call_form form, Native& native, Work work) noexcept {
  const guard g;
  if (!served(comm)) {
    if (observing()) count_passed_on(form);
    return native();
  }
  try {
    return work();
  } catch (...) {
    return fail(comm);
  }
}

/// `site` is the return address; `make` gives the exchange, `native` makes the MPI library's call and returns its code.
template <class Make, class Native>
int serve(MPI_Comm comm, const void* site, Make&& make, Native&& native) noexcept {
  return in_frame(comm, workloads::call_form::blocking, native, [&] {
    const settings& s = settings::get();
    const bool cold = s.route && is_cold(comm);
    if (cold && !observing()) return native();
    const exchange x = off_devices(make());
    std::optional<call_event> observed;
    if (observing())
      observed.emplace(comm, static_cast<workloads::call_kind>(x.kind), workloads::call_form::blocking, site);
    outcome o;
    const bool passed_on = !s.route || cold || (observed && observed->sampled());
    if (observed && passed_on)
      o.reason = cold ? reasons::first_call : !s.route ? reasons::only_recorded : reasons::sampled;
    if (passed_on || !run_through(x, site, observed ? &o : nullptr)) {
      const int code = native();
      if (code != MPI_SUCCESS) return code;
    }
    if (observed) observed->ended(x, o);
    return MPI_SUCCESS;
  });
}

}  // namespace taquin::interpose
