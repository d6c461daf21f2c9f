#include "model/selection.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace taquin::detail {

namespace {

double busiest(const shape& s) { return static_cast<double>(std::max(s.max_rank_bytes, s.max_received_bytes)); }

bool same_kind(const measured_point& m, const shape& s, bool reused) {
  return m.ranks == s.ranks && m.kind == s.kind && m.in_place == s.in_place && m.symmetric == s.symmetric &&
         m.reused == reused && m.skew == skew_of(s);
}

double log_of(double bytes) { return std::log2(bytes + 1); }

// The shape of a problem like `s`, `factor` times as large.
shape scaled(shape s, double factor) {
  for (std::uint64_t* bytes : {&s.max_block_bytes, &s.min_block_bytes, &s.max_rank_bytes, &s.max_received_bytes})
    *bytes = static_cast<std::uint64_t>(static_cast<double>(*bytes) * factor);
  return s;
}

std::optional<seconds> interpolate(const algorithm& a, const shape& s, const options& o, bool reused,
                                   const profile& p) {
  const double bytes = busiest(s);
  const measured_point* below = nullptr;
  const measured_point* above = nullptr;
  for (const auto& m : p.points) {
    if (m.algorithm != a.name || !same_kind(m, s, reused)) continue;
    if (m.bytes <= bytes && (below == nullptr || m.bytes > below->bytes)) below = &m;
    if (m.bytes >= bytes && (above == nullptr || m.bytes < above->bytes)) above = &m;
  }
  if (below == nullptr && above == nullptr) return std::nullopt;
  if (below != nullptr && above != nullptr) {
    const double width = log_of(above->bytes) - log_of(below->bytes);
    const double t = width > 0 ? (log_of(bytes) - log_of(below->bytes)) / width : 0;
    return std::exp2(std::log2(below->time) * (1 - t) + std::log2(above->time) * t);
  }
  const measured_point& nearest = below != nullptr ? *below : *above;
  const seconds there = a.cost(scaled(s, nearest.bytes / std::max(bytes, 1.0)), o, p.model);
  const seconds here = a.cost(s, o, p.model);
  return there > 0 ? nearest.time * here / there : nearest.time;
}

}  // namespace

int skew_of(const shape& s) noexcept {
  if (s.uniform) return 0;
  return static_cast<double>(s.max_block_bytes) * s.ranks <= 8 * busiest(s) ? 1 : 2;
}

seconds predict(const algorithm& a, const shape& s, const options& o, bool reused, const profile& p) {
  if (const auto measured = interpolate(a, s, o, reused, p)) return *measured;
  return a.cost(s, o, p.model);
}

std::vector<candidate> candidates(const shape& s, const options& o, bool reused, const profile& p) {
  std::vector<candidate> all;
  for (const algorithm* a : algorithms()) {
    if (a->cost == nullptr) continue;
    candidate c{.what = a, .supported = a->supports(s)};
    if (c.supported) {
      const auto measured = interpolate(*a, s, o, reused, p);
      c.memory = a->memory(s, o);
      c.measured = measured.has_value();
      c.time = measured.value_or(a->cost(s, o, p.model));
    }
    all.push_back(c);
  }
  return all;
}

const algorithm* select(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p) {
  // What in_place costs depends on the displacements, which the model does not see; the MPI library's own is there for
  // symmetric counts only, and copies or allocates as it likes.
  constexpr std::uint64_t small_block = 32 << 10;
  if (s.in_place && in_place.supports(s) && (!s.symmetric || s.max_block_bytes > small_block)) return &in_place;
  const auto all = candidates(s, o, reused, p);
  const bool any_measured =
      std::ranges::any_of(all, [&](const candidate& c) { return c.supported && c.measured && c.memory <= limit; });
  const candidate* best = nullptr;
  const candidate* least = nullptr;
  for (const candidate& c : all) {
    if (!c.supported) continue;
    if (least == nullptr || c.memory < least->memory) least = &c;
    if (c.memory > limit || (any_measured && !c.measured)) continue;
    if (best == nullptr || c.time < best->time) best = &c;
  }
  if (best == nullptr) best = least;
  return best == nullptr ? nullptr : best->what;
}

}  // namespace taquin::detail
