// Functions of the algorithms in which a rank has one partner after another.
#pragma once

#include "base/sizes.hpp"
#include "model/terms.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail::one_by_one {

inline schedule_size size(const shape& s) noexcept {
  const auto p = as_size(s.ranks);
  return {s.kind == exchange::form::alltoallw ? 2 * p : 2, 2 * p, 2 * p, 1, p};
}

inline std::size_t memory(const shape& s, const options&) noexcept { return executor::footprint(size(s), 0); }

inline seconds cost(const shape& s, const options&, const machine_model& m) noexcept {
  return terms(s, m).one_by_one();
}

}  // namespace taquin::detail::one_by_one
