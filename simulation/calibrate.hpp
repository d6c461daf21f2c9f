// Measures messages and copies on a running communicator and fits the machine model.
#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <vector>

#include "select/selection.hpp"
#include "simulation/fit.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// The samples of a calibration, per level (0 within a node, 1 between nodes); a level that the communicator does not
/// have is empty.
struct calibration {
  std::array<std::vector<message_sample>, 2> samples;  ///< that the models are fitted to
  std::array<std::vector<message_sample>, 2> checks;   ///< of other sizes, that they are compared with
  machine_model model;
};

/// How well each model predicts messages that it was not fitted to, on each level that was measured. On rank 0, which
/// has the samples.
std::vector<fit_quality> qualities(const calibration& c);
/// A warning for each level where the model that predictions use is a poor fit, with the one that fits best; empty
/// where it is a good one.
std::string poor_fits(model_kind used, const std::vector<fit_quality>& fits);
/// The uncertainty of the measurement, a line for each level.
std::string doubts(const calibration& c);
/// The part of a profile that is from a calibration: model, how well it fits, and the machine.
profile profile_of(const calibration& c);

/// Collective. Rank 0 measures with the nearest rank of its own node and with one of another node, if there is one; the
/// others wait. Sizes from 1 B to `most_bytes`. About a second per level. The result is the same on all ranks.
/// Parameters that could not be measured (one rank, one node) are those of the built-in model.
calibration calibrate(MPI_Comm comm, count_t most_bytes = count_t{4} << 20);

}  // namespace taquin::detail
