// From measured messages to the parameters of the models. Pure: no MPI, no clock.
#pragma once

#include <span>
#include <vector>

#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// The measurements of messages of one size: medians, in seconds.
struct message_sample {
  count_t bytes = 0;
  seconds one_way = 0;           ///< half a round trip
  seconds gap = 0;               ///< of each further one of many consecutive messages
  seconds send_overhead = 0;     ///< in the sender's call
  seconds receive_overhead = 0;  ///< in the receiver's call, for a message that is there already
  double uncertainty = 0;        ///< of one_way: half its 95% interval, relative
};

/// time ≈ each + per_byte·bytes. Robust: minimises the sum of absolute relative errors (iteratively reweighted), so
/// that small messages count as much as large ones and outliers little. Both parameters are at least 0.
struct line {
  seconds each = 0;
  seconds per_byte = 0;
};
line fit_line(std::span<const count_t> bytes, std::span<const seconds> times);

/// All four models from samples in ascending order of bytes; at least two. PLogP as Kielmann et al. (2000, §4) have it:
/// g(m) is measured with saturated links, os(m) and or(m) with delayed round trips, and L is what the first one-way
/// time leaves beside its gap. PLogP requires g(m) ≥ os(m) and g(m) ≥ or(m): smaller gaps are raised.
link_model fit(std::span<const message_sample> samples);

/// Samples whose gap is shorter than an overhead, which PLogP's model excludes.
std::size_t raised_gaps(std::span<const message_sample> samples) noexcept;

/// Half the 95% interval of the median of values, relative to it, by order statistics; 0 of fewer than 6.
double uncertainty_of(std::vector<seconds> values);

/// The distance of a model from the samples' one-way times: relative errors, their median and 90th percentile. They
/// mean something for samples that the model was not fitted to.
struct fit_error {
  double median = 0;
  double p90 = 0;
};
fit_error error_of(const link_model& fitted, model_kind kind, std::span<const message_sample> samples);

/// The median and the 90th percentile of values (by nearest rank); 0 of none.
fit_error percentiles(std::vector<double> values);

}  // namespace taquin::detail
