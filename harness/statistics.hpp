// Statistics of noisy times: Tukey's outlier filter, median, confidence interval.
#pragma once

#include <vector>

namespace taquin::harness {

struct interval {
  double low = 0;
  double high = 0;
};

struct summary {
  double median = 0;
  interval ci95{};  ///< of the median, from order statistics
};

/// The value at fraction q of the sorted values, interpolated. At least one value.
double quantile(const std::vector<double>& sorted, double q);
/// The median. At least one value.
double median(std::vector<double> values);
/// The values within 1.5 interquartile ranges of the quartiles, sorted.
std::vector<double> without_outliers(std::vector<double> values);
/// Median and its 95% confidence interval after the outlier filter. At least one value. The interval holds for any
/// distribution: the number of values below the true median is binomial. With fewer than 6 values no interval of 95%
/// exists; it is then all that was seen.
summary summarise(const std::vector<double>& values);

}  // namespace taquin::harness
