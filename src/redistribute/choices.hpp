// The meaning of the options of a redistribution or a migration.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "mpi/progress.hpp"
#include "node/call_deadline.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

/// How long it may wait.
inline call_timeout timeout_of(const redistribute_options& o) noexcept {
  return call_timeout::of({.on_timeout = o.on_timeout, .timeout = o.timeout});
}

/// A thread progresses a started operation.
inline bool by_thread(const redistribute_options& o) {
  return o.progress == progress_by::thread ||
         (o.progress == progress_by::library && environment::get().progress_thread && mpi::can_progress_by_thread());
}

/// A hash of all that must be identical on all ranks.
inline std::uint64_t choices_of(const redistribute_options& o) {
  fingerprint all;
  all.add(o.algorithm);
  all.add(o.check);
  all.add(std::lround(o.least_progress * 1e9));
  all.add(o.in_flight);
  all.add((by_thread(o) ? 1U : 0U) + (timeout_of(o).seconds > 0 ? 2U : 0U));
  return all.value();
}

}  // namespace taquin::detail
