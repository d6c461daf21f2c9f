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

// The rounds of what rides on a blocking call's agreement are there anyway.
seconds formula(const algorithm& a, const shape& s, const options& o, bool reused, const machine_model& m) {
  const seconds time = a.cost(s, o, m);
  if (reused || a.ride.capacity == nullptr || a.ride.capacity(s.ranks, o) == 0) return time;
  return std::max(0.0, time - a.cost(scaled(s, 0), o, m));
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

std::uint64_t quarter_octaves(std::uint64_t bytes) {
  return static_cast<std::uint64_t>(std::lround(4 * std::log2(static_cast<double>(bytes) + 1)));
}

}  // namespace

int skew_of(const shape& s) noexcept {
  if (s.uniform) return 0;
  return static_cast<double>(s.max_block_bytes) * s.ranks < 4 * busiest(s) ? 1 : 2;
}

seconds predict(const algorithm& a, const shape& s, const options& o, bool reused, const profile& p) {
  if (const auto measured = interpolate(a, s, o, reused, p)) return *measured;
  return formula(a, s, o, reused, p.model);
}

std::vector<candidate> candidates(const shape& s, const options& o, bool reused, const profile& p) {
  std::vector<candidate> all;
  for (const algorithm* a : algorithms()) {
    candidate c{.what = a, .supported = a->supports(s)};
    if (c.supported) {
      const auto measured = interpolate(*a, s, o, reused, p);
      c.memory = a->memory(s, o);
      c.measured = measured.has_value();
      c.time = measured.value_or(formula(*a, s, o, reused, p.model));
    }
    all.push_back(c);
  }
  return all;
}

std::vector<const algorithm*> ranking(const shape& s, const options& o, bool reused, std::size_t limit,
                                      const profile& p) {
  auto all = candidates(s, o, reused, p);
  std::erase_if(all, [&](const candidate& c) { return !c.supported || c.memory > limit; });
  if (std::ranges::any_of(all, &candidate::measured))
    std::erase_if(all, [](const candidate& c) { return !c.measured; });
  std::ranges::stable_sort(all, {}, &candidate::time);
  std::vector<const algorithm*> best;
  for (const candidate& c : all) best.push_back(c.what);
  return best;
}

const algorithm* select(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p) {
  // What in_place costs depends on the displacements, which the model does not see; the MPI library's own is there for
  // symmetric counts only, and copies or allocates as it likes.
  constexpr std::uint64_t small_block = 32 << 10;
  if (s.in_place && in_place.supports(s) && (!s.symmetric || s.max_block_bytes > small_block)) return &in_place;
  const auto best = ranking(s, o, reused, limit, p);
  if (!best.empty()) return best.front();
  const algorithm* least = nullptr;
  for (const algorithm* a : algorithms())
    if (a->supports(s) && (least == nullptr || a->memory(s, o) < least->memory(s, o))) least = a;
  return least;
}

std::uint64_t choice_key(const shape& s, const options& o, bool reused, std::size_t limit) {
  std::uint64_t h = 14695981039346656037ULL;
  const auto add = [&](std::uint64_t v) { h = (h ^ v) * 1099511628211ULL; };
  add(static_cast<std::uint64_t>(s.kind));
  add((s.in_place ? 1U : 0U) + (s.symmetric ? 2U : 0U) + (s.uniform ? 4U : 0U) + (s.large ? 8U : 0U) +
      (reused ? 16U : 0U));
  for (const std::uint64_t bytes : {s.max_block_bytes, s.min_block_bytes, s.max_rank_bytes, s.max_received_bytes})
    add(quarter_octaves(bytes));
  add(limit);
  add(static_cast<std::uint64_t>(o.radix.value_or(0)));
  add(static_cast<std::uint64_t>(o.layout));
  add(static_cast<std::uint64_t>(o.ports));
  for (const char c : o.inner) add(static_cast<unsigned char>(c));
  add(static_cast<std::uint64_t>(s.largest_node));
  return h;
}

}  // namespace taquin::detail
