#include "taquin/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "base/sizes.hpp"

namespace taquin {

namespace {

double real(count_t n) { return static_cast<double>(n); }
// LogGP and PLogP charge the first byte to the overheads.
double rest(count_t bytes) { return real(std::max<count_t>(bytes - 1, 0)); }

}  // namespace

seconds hockney::time(count_t bytes) const noexcept { return tau + mu * real(bytes); }
message_cost hockney::cost(count_t bytes) const noexcept { return {0, time(bytes), 0, 0, time(bytes)}; }

seconds logp::time(count_t bytes) const noexcept {
  const double packets = std::max(1.0, std::ceil(real(bytes) / real(packet)));
  return latency + 2 * overhead + (packets - 1) * std::max(gap, overhead);
}
message_cost logp::cost(count_t bytes) const noexcept {
  const double packets = std::max(1.0, std::ceil(real(bytes) / real(packet)));
  const seconds each = std::max(gap, overhead);
  return {overhead, (packets - 1) * each, latency, overhead, packets * each};
}

seconds loggp::time(count_t bytes) const noexcept { return latency + 2 * overhead + rest(bytes) * per_byte; }
message_cost loggp::cost(count_t bytes) const noexcept {
  const seconds port = rest(bytes) * per_byte;
  return {overhead, port, latency, overhead, gap + port};
}

plogp::point plogp::at(count_t bytes) const noexcept {
  if (points.size() == 1 || bytes <= points.front().bytes) return points.front();
  auto upper = std::ranges::lower_bound(points, bytes, {}, &point::bytes);
  if (upper == points.end()) --upper;
  const point& a = *(upper - 1);
  const point& b = *upper;
  const double t = real(bytes - a.bytes) / real(b.bytes - a.bytes);
  const auto between = [t](seconds from, seconds to) { return from + t * (to - from); };
  return {bytes, between(a.send_overhead, b.send_overhead), between(a.receive_overhead, b.receive_overhead),
          between(a.gap, b.gap)};
}
seconds plogp::time(count_t bytes) const noexcept { return latency + at(bytes).gap; }
message_cost plogp::cost(count_t bytes) const noexcept {
  const point p = at(bytes);
  // L + g(m) is the whole time: the part of the gap that is not overhead is the port's. The next message may follow
  // g(m) after this one began.
  const seconds port = std::max(0.0, p.gap - p.send_overhead - p.receive_overhead);
  return {p.send_overhead, port, std::max(0.0, time(bytes) - p.send_overhead - port - p.receive_overhead),
          p.receive_overhead, std::max(port, p.gap)};
}

std::string_view name_of(model_kind kind) noexcept {
  constexpr std::array<std::string_view, 4> names{"hockney", "logp", "loggp", "plogp"};
  return names[detail::as_size(kind)];
}

message_cost link_model::cost(model_kind kind, count_t bytes) const noexcept {
  switch (kind) {
    case model_kind::hockney:
      return hockney.cost(bytes);
    case model_kind::logp:
      return logp.cost(bytes);
    case model_kind::loggp:
      return loggp.cost(bytes);
    case model_kind::plogp:
      break;
  }
  return plogp.cost(bytes);
}

seconds link_model::time(model_kind kind, count_t bytes) const noexcept {
  const message_cost c = cost(kind, bytes);
  return c.sender + c.port + c.latency + c.receiver;
}

message_cost machine_model::cost(int level, count_t bytes) const noexcept {
  message_cost c = levels[detail::as_size(level)].cost(kind, bytes);
  c.sender *= ranks_per_core;
  c.receiver *= ranks_per_core;
  if (level == 0) {  // shared memory: a core moves the bytes
    c.port *= ranks_per_core;
    c.gap *= ranks_per_core;
  }
  return c;
}

machine_model machine_model::built_in() {
  const auto link = [](seconds latency, seconds overhead, seconds per_byte) {
    link_model l;
    l.hockney = {latency + 2 * overhead, per_byte};
    l.logp = {latency, overhead, std::max(overhead, 4096 * per_byte), 4096};
    l.loggp = {latency, overhead, overhead, per_byte};
    const auto point = [&](count_t bytes) {
      return plogp::point{bytes, overhead, overhead, 2 * overhead + real(bytes) * per_byte};
    };
    l.plogp = {latency, {point(0), point(1 << 20)}};
    return l;
  };
  machine_model m;
  m.levels = {link(0.2e-6, 0.15e-6, 0.2e-9), link(10e-6, 0.5e-6, 0.8e-9)};
  m.copy = {0.02e-6, 0.1e-9};
  m.line = 0.02e-6;
  m.pack = {0.02e-6, 0.15e-9};
  return m;
}

}  // namespace taquin
