// The table of routes: where a call goes.
//
// A route depends on the kind of call, and on state of the communicator that all its ranks have changed in the same
// way: by an agreement, or by counting its blocking exchanges, which MPI orders identically on all ranks. An option
// that ranks may set differently (statistics, timeout, memory, in_place), a started plan, a rank's clock and the
// history of other communicators never decide a route. A rank that cannot bring its blocks to a step says so in its
// header, in the same step.
#pragma once

#include <cstdint>

namespace taquin::detail {

/// The state of a communicator that all its ranks know identically.
struct comm_state {
  bool failed = false;    ///< a rank has failed in a call on it
  bool cold = false;      ///< the preloaded library's: one of the first blocking exchanges on it
  bool inter = false;     ///< an intercommunicator
  bool has_step = false;  ///< its ranks share memory for a collective step
};

enum class call_use : std::uint8_t { blocking, plan };

enum class route : std::uint8_t {
  failed,   ///< the error of the communicator, on this rank, immediately
  library,  ///< the MPI library's own call
  step,     ///< one collective step with the headers and small data of all ranks; then done, or `plan`
  plan,     ///< agree, choose, prepare, run
};

/// | state of the communicator | call     | route                                                             |
/// |---------------------------|----------|-------------------------------------------------------------------|
/// | failed                    | any      | failed                                                            |
/// | cold, intercommunicator   | blocking | library                                                           |
/// | has a step                | blocking | step; where not all of it fitted, plan, with the ranks' headers   |
/// | none of these             | blocking | plan; between nodes its agreement is a step that carries blocks   |
/// | any but failed            | plan     | plan                                                              |
constexpr route route_of(const comm_state& s, call_use use) noexcept {
  if (s.failed) return route::failed;
  if (use == call_use::plan) return route::plan;
  if (s.cold || s.inter) return route::library;
  return s.has_step ? route::step : route::plan;
}

}  // namespace taquin::detail
