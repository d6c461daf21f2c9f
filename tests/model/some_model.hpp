// A machine for tests: round figures, the same within a node and between nodes.
#pragma once

#include "taquin/cost_model.hpp"

namespace taquin::detail {

inline machine_model model_of(model_kind kind) {
  machine_model m;
  link_model l;
  l.hockney = {3e-6, 1e-9};
  l.logp = {2e-6, 0.5e-6, 1e-6, 1000};
  l.loggp = {2e-6, 0.5e-6, 0.7e-6, 1e-9};
  l.plogp = {2e-6, {{0, 0.5e-6, 0.4e-6, 1e-6}, {1000, 1e-6, 0.8e-6, 3e-6}, {2000, 1.5e-6, 1.2e-6, 6e-6}}};
  m.levels = {l, l};
  m.kind = kind;
  return m;
}

}  // namespace taquin::detail
