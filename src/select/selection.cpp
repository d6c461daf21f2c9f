#include "select/selection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/fingerprint.hpp"
#include "base/option_table.hpp"
#include "model/terms.hpp"

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

}  // namespace

bool piggybacked_on_agreement(const algorithm& a, const shape& s) noexcept {
  return a.piggybacked.cost != nullptr && s.carries();
}

namespace {

seconds formula(const algorithm& a, const shape& s, const options& o, bool reused, const machine_model& m) {
  if (!reused && piggybacked_on_agreement(a, s)) return a.piggybacked.cost(s, o, m);
  const seconds time = a.cost(s, o, m);
  if (a.preparation != nullptr) return time + a.preparation(s, o, m, reused);
  return reused ? time : time + terms(s, m).packs(1, static_cast<double>(a.memory(s, o)));
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

// The octave, and which quarter of it: a blocking call of a microsecond has no time for logarithms.
std::uint64_t quarter_octaves(std::uint64_t bytes) {
  if (bytes < 4) return bytes;
  const auto octave = static_cast<std::uint64_t>(std::bit_width(bytes));
  return 4 * octave + ((bytes >> (octave - 3)) & 3);
}

}  // namespace

void share_cores(machine_model& m, int on_node, int cores) noexcept {
  constexpr seconds core_switch = 0.85e-6;
  m.ranks_per_core = std::max(1.0, static_cast<double>(on_node) / std::max(cores, 1));
  // Waiting ranks yield their core and are scheduled one after another.
  if (m.ranks == 0) m.wait = m.ranks_per_core > 1 ? m.ranks_per_core * core_switch : 0;
}

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
      c.predicted = formula(*a, s, o, reused, p.model);
      c.time = measured.value_or(c.predicted);
    }
    all.push_back(c);
  }
  return all;
}

std::vector<const algorithm*> ranking(const shape& s, const options& o, bool reused, std::size_t limit,
                                      const profile& p, const algorithm* step) {
  auto all = candidates(s, o, reused, p);
  std::erase_if(all, [&](const candidate& c) { return !c.supported || (c.memory > limit && c.what != step); });
  const auto needs_calls = [&](const candidate& c) {
    return c.what->ends_by_itself == nullptr || !c.what->ends_by_itself(s, o, limit);
  };
  if (reused && o.progress == progress_by::library && !std::ranges::all_of(all, needs_calls))
    std::erase_if(all, needs_calls);
  if (std::ranges::any_of(all, &candidate::measured))
    std::erase_if(all, [](const candidate& c) { return !c.measured; });
  std::ranges::stable_sort(all, {}, &candidate::time);
  std::vector<const algorithm*> best;
  best.reserve(all.size());
  for (const candidate& c : all) best.push_back(c.what);
  return best;
}

namespace {

thread_local std::span<const int> rules_of_caller;

bool fits_caller(const rule& r, std::size_t number) noexcept {
  return r.site.empty() || std::ranges::find(rules_of_caller, static_cast<int>(number)) != rules_of_caller.end();
}

}  // namespace

calls_from::calls_from(std::span<const int> rules) noexcept : before_(std::exchange(rules_of_caller, rules)) {}
calls_from::~calls_from() { rules_of_caller = before_; }
std::span<const int> calls_from::rules() noexcept { return rules_of_caller; }

const algorithm* ruled(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p,
                       const algorithm* step) {
  for (std::size_t i = 0; i < p.rules.size(); ++i) {
    const rule& r = p.rules[i];
    const bool fits = fits_caller(r, i) && r.kind.value_or(s.kind) == s.kind &&
                      r.in_place.value_or(s.in_place) == s.in_place && r.reused.value_or(reused) == reused &&
                      (r.ranks == 0 || r.ranks == s.ranks) && (r.nodes == 0 || r.nodes == s.nodes) &&
                      busiest(s) >= r.least_bytes && busiest(s) <= r.most_bytes;
    const algorithm* const a = fits ? find_algorithm(r.algorithm) : nullptr;
    if (a == nullptr || !a->supports(s) || (a->memory(s, o) > limit && a != step)) continue;
    const bool alone = a->ends_by_itself != nullptr && a->ends_by_itself(s, o, limit);
    if (!reused || alone || o.progress != progress_by::library) return a;
  }
  return nullptr;
}

const algorithm* select(const shape& s, const options& o, bool reused, std::size_t limit, const profile& p) {
  if (const algorithm* const a = ruled(s, o, reused, limit, p)) return a;
  const auto best = ranking(s, o, reused, limit, p);
  if (!best.empty()) return best.front();
  const algorithm* least = nullptr;
  for (const algorithm* a : algorithms())
    if (a->supports(s) && (least == nullptr || a->memory(s, o) < least->memory(s, o))) least = a;
  return least;
}

namespace {

// Only larger differences of predicted times are trusted.
constexpr double worth_measuring = 8;

// The next in the ranking, where the prediction does not settle it.
const algorithm* rival_of(const algorithm& first, std::span<const algorithm* const> best, const shape& s,
                          const options& o, const profile& p) {
  const auto rival = std::ranges::find_if(best, [&](const algorithm* other) { return other != &first; });
  if (rival == best.end()) return nullptr;
  const bool close = predict(**rival, s, o, false, p) < worth_measuring * predict(first, s, o, false, p);
  return close ? *rival : nullptr;
}

}  // namespace

decision decide(const shape& given, const options& o, bool reused, std::size_t limit, const profile& p,
                const algorithm* step) {
  using why = decision::reason;
  if (reused) step = nullptr;
  if (step != nullptr && !p.given) return {step, nullptr, why::step};
  if (const algorithm* const a = ruled(given, o, reused, limit, p, step))
    return {a, nullptr, a == step ? why::step : why::rule};
  auto best = ranking(given, o, reused, limit, p, step);
  if (step != nullptr && !best.empty() && best.front() == step) return {step, nullptr, why::step};
  shape s = given;
  if (step != nullptr) {  // it does not carry the blocks
    s.piggybacked_block = 0;
    best = ranking(s, o, reused, limit, p);
  }
  if (best.empty()) return {select(s, o, reused, limit, p), nullptr, why::least_memory};
  decision d{.what = best.front()};
  if (!reused && !s.shared && s.nodes > 1 && p.points.empty()) d.rival = rival_of(*d.what, best, s, o, p);
  return d;
}

bool stays_local(const shape& s, bool reused, bool moves) noexcept {
  return reused && s.ranks > 1 && !s.in_place && !moves && spread_out.supports(s);
}

namespace {

// The options of the exchange's algorithm that are the same on all ranks.
template <class Value>
void add_option(fingerprint& key, const option_row& row, const Value& value) {
  if constexpr (!std::is_floating_point_v<Value>)
    if (row.part != "call" && row.ranks == option_ranks::identical) key.add(value);
}

}  // namespace

std::uint64_t choice_key(const shape& s, const options& o, bool reused, std::size_t limit) {
  fingerprint key;
  key.add(s.kind);
  for (const bool b : {s.in_place, s.symmetric, s.uniform, s.large, reused}) key.add(b);
  for (const std::uint64_t bytes : {s.max_block_bytes, s.min_block_bytes, s.max_rank_bytes, s.max_received_bytes})
    key.add(quarter_octaves(bytes));
  key.add(limit);
  key.add(o.progress);
  if (reused && o.progress == progress_by::library)  // sizes of a quarter of an octave may differ in this
    for (const algorithm* a : algorithms()) key.add(a->ends_by_itself != nullptr && a->ends_by_itself(s, o, limit));
#define TAQUIN_OPTION(NAME, FIELD, ...) add_option(key, option_rows::NAME, o.FIELD);
#include "base/options.def"
  key.add(s.largest_node);
  return key.value();
}

}  // namespace taquin::detail
