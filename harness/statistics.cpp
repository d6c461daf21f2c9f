#include "harness/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace taquin::harness {

namespace {

// The largest k with P(Binomial(n, 1/2) < k) ≤ 2.5%: the k-th smallest and k-th largest values bound the median.
std::size_t bound(std::size_t n) {
  double term = std::exp2(-static_cast<double>(n));
  double below = 0;
  std::size_t k = 0;
  while (k < n / 2 && below + term <= 0.025) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto i = static_cast<std::size_t>(at);
  if (i + 1 == sorted.size()) return sorted[i];
  return std::lerp(sorted[i], sorted[i + 1], at - static_cast<double>(i));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

std::vector<double> without_outliers(std::vector<double> values) {
  std::ranges::sort(values);
  const double q1 = quantile(values, 0.25);
  const double q3 = quantile(values, 0.75);
  const double reach = 1.5 * (q3 - q1);
  std::erase_if(values, [&](double v) { return v < q1 - reach || v > q3 + reach; });
  return values;
}

summary summarise(const std::vector<double>& values) {
  const auto kept = without_outliers(values);
  const std::size_t k = std::max<std::size_t>(bound(kept.size()), 1);
  return {quantile(kept, 0.5), {kept[k - 1], kept[kept.size() - k]}};
}

}  // namespace taquin::harness
