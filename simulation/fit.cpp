#include "simulation/fit.hpp"

#include <algorithm>
#include <cmath>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

double real(count_t n) { return static_cast<double>(n); }

seconds least_gap(const message_sample& s) noexcept { return std::max({s.gap, s.send_overhead, s.receive_overhead}); }

}  // namespace

line fit_line(std::span<const count_t> bytes, std::span<const seconds> times) {
  std::vector<double> weight(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) weight[i] = 1 / (times[i] * times[i]);
  line best;
  for (int iteration = 0; iteration < 50; ++iteration) {
    double s = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double w = weight[i];
      const double b = real(bytes[i]);
      s += w, x += w * b, y += w * times[i], xx += w * b * b, xy += w * b * times[i];
    }
    const double determinant = s * xx - x * x;
    double slope = determinant > 0 ? (s * xy - x * y) / determinant : 0;
    double each = s > 0 ? (y - slope * x) / s : 0;
    if (slope < 0) slope = 0, each = y / s;
    if (each < 0) each = 0, slope = xx > 0 ? xy / xx : 0;
    best = {each, slope};
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double relative = std::abs(each + slope * real(bytes[i]) - times[i]) / times[i];
      weight[i] = 1 / (times[i] * times[i] * std::max(relative, 1e-3));
    }
  }
  return best;
}

link_model fit(std::span<const message_sample> samples) {
  std::vector<count_t> bytes;
  std::vector<seconds> one_way;
  std::vector<seconds> gap;
  for (const auto& s : samples) {
    bytes.push_back(s.bytes);
    one_way.push_back(s.one_way);
    gap.push_back(s.gap);
  }
  const message_sample& small = samples.front();
  const seconds overhead = (small.send_overhead + small.receive_overhead) / 2;
  const line time = fit_line(bytes, one_way);
  const line steady = fit_line(bytes, gap);

  link_model l;
  l.hockney = {time.each, time.per_byte};
  const seconds latency = std::max(0.0, time.each - 2 * overhead);
  l.loggp = {latency, overhead, std::max(overhead, steady.each), time.per_byte};
  l.logp.latency = latency;
  l.logp.overhead = overhead;
  l.logp.packet = 4096;
  l.logp.gap = std::max(overhead, time.per_byte * real(l.logp.packet));
  // PLogP's own definition: the time of an empty message is L + g(0).
  for (const auto& s : samples) l.plogp.points.push_back({s.bytes, s.send_overhead, s.receive_overhead, least_gap(s)});
  l.plogp.latency = std::max(0.0, small.one_way - least_gap(small));
  return l;
}

std::size_t raised_gaps(std::span<const message_sample> samples) noexcept {
  return as_size(std::ranges::count_if(samples, [](const message_sample& s) { return s.gap < least_gap(s); }));
}

double uncertainty_of(std::vector<seconds> values) {
  constexpr std::size_t least = 6;
  if (values.size() < least) return 0;
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  constexpr double half_of_95 = 0.98;  // 1.96 standard deviations of √n/2 ranks
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - half_of_95 * std::sqrt(n))));
  const auto high = std::min(values.size() - 1, static_cast<std::size_t>(std::ceil(n / 2 + half_of_95 * std::sqrt(n))));
  const seconds middle = values[values.size() / 2];
  return middle > 0 ? (values[high] - values[low]) / 2 / middle : 0;
}

fit_error percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(rank, 1) - 1];
  };
  return {at(0.5), at(0.9)};
}

fit_error error_of(const link_model& fitted, model_kind kind, std::span<const message_sample> samples) {
  std::vector<double> errors;
  for (const auto& s : samples) errors.push_back(std::abs(fitted.time(kind, s.bytes) - s.one_way) / s.one_way);
  return percentiles(std::move(errors));
}

}  // namespace taquin::detail
