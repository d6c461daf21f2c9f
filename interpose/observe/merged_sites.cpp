#include "interpose/observe/merged_sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "interpose/reasons.hpp"

namespace taquin::interpose {

namespace {

std::uint64_t number_of(const std::map<std::string, std::uint64_t>& calls) {
  std::uint64_t n = 0;
  for (const auto& [reason, k] : calls) n += k;
  return n;
}

// Student's quantile of four values: wider than need be for more.
double spread(double n, double sum, double squares) {
  constexpr double quantile = 3.182;
  if (n < 2) return std::numeric_limits<double>::infinity();
  return quantile * std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1) / n);
}

}  // namespace

std::vector<unobserved> unobserved_of(const rank_log& log) {
  std::vector<unobserved> all;
  for (const other_call what : {other_call::switched_off, other_call::outside})
    for (const call_form form : {call_form::blocking, call_form::nonblocking, call_form::persistent}) {
      const std::size_t at = static_cast<std::size_t>(what) + static_cast<std::size_t>(form);
      const std::uint64_t calls = at < log.others.size() ? log.others[at] : 0;
      const char* const reason = what == other_call::switched_off ? reasons::switched_off : reasons::outside;
      if (calls > 0) all.push_back({std::string(workloads::name_of(form)), reason, calls});
    }
  return all;
}

comparison comparison::of(const site_log& s) {
  if (s.sampled == 0 || s.calls <= s.sampled) return {};
  const auto all = static_cast<double>(s.calls);
  const auto n = static_cast<double>(s.sampled);
  const double served = s.seconds - s.sampled_seconds;
  return {s.sampled, s.sampled_seconds / n * all, served / (all - n) * all,
          spread(n, s.sampled_seconds, s.sampled_squares) * all,
          spread(all - n, served, s.squares - s.sampled_squares) * all};
}

std::string merged::place() const { return form + where.words(); }

std::string merged::rule_site() const {
  if (where.file.empty()) return where.function;
  return fmt::format("{}:{}", where.file.substr(where.file.rfind('/') + 1), where.line);
}

std::vector<merged> merge(const std::vector<rank_log>& logs) {
  using key = std::tuple<std::string, std::uint64_t, comm_id, workloads::call_kind, workloads::call_form>;
  std::map<key, merged> all;
  for (const rank_log& log : logs) {
    for (const site_log& s : log.sites) {
      const known_comm& c = log.comms[s.comm];
      auto [found, fresh] = all.try_emplace({s.object, s.offset, c.id, s.kind, s.form});
      merged& m = found->second;
      const auto rank = static_cast<std::size_t>(c.rank);
      if (fresh) {
        m.form = name_of_call(s.kind, s.form);
        m.use = workloads::name_of(s.form);
        m.world_ranks = c.world_ranks;
        m.where = resolve(s.object, s.offset);
        m.sent.resize(c.world_ranks.size());
        m.received.resize(c.world_ranks.size());
        m.arrival.resize(c.world_ranks.size());
      }
      m.calls = std::max(m.calls, s.calls);
      m.bytes += s.bytes;
      if (s.seconds > m.seconds) {
        m.seconds = s.seconds;
        m.waiting = s.waits.of(s.seconds);
        m.waits_known = s.waits.calls;
        m.waits_of = s.calls;
        m.compared = comparison::of(s);
      }
      m.peak_memory = std::max(m.peak_memory, s.peak_memory);
      m.sent[rank] += s.bytes;
      m.received[rank] += s.received;
      if (s.arrivals > 0) m.arrival[rank] = s.arrival / static_cast<double>(s.arrivals);
      for (const auto& [last, w] : s.waited_for) {
        m.waited_for[last].seconds += w.seconds;
        m.waited_for[last].deviation += std::sqrt(w.squares);
      }
      for (const auto& [size, blocks] : s.sizes) m.sizes[size] += blocks;
      for (const auto& [name, calls] : s.algorithms) m.algorithms[name] = std::max(m.algorithms[name], calls);
      // Ranks learn at different times that they have agreed: the reasons of one of them add up.
      if (number_of(s.fallbacks) > number_of(m.fallbacks)) m.fallbacks = s.fallbacks;
      if (s.trial.library > 0) m.trial = s.trial;
      for (std::size_t to = 0; to < s.flows.size(); ++to)
        if (s.flows[to] > 0) m.flows.push_back({c.rank, to, s.flows[to]});
    }
  }
  std::vector<merged> sites;
  sites.reserve(all.size());
  for (auto& [k, m] : all) sites.push_back(std::move(m));
  std::ranges::stable_sort(sites, std::greater{}, &merged::seconds);
  return sites;
}

merged sum_of(const std::vector<rank_log>& logs, const std::vector<merged>& sites) {
  merged total;
  for (const merged& m : sites) {
    total.calls += m.calls;
    total.bytes += m.bytes;
    total.peak_memory = std::max(total.peak_memory, m.peak_memory);
    for (const auto& [name, calls] : m.algorithms) total.algorithms[name] += calls;
    for (const auto& [reason, calls] : m.fallbacks) total.fallbacks[fmt::format("{}: {}", m.use, reason)] += calls;
  }
  std::map<std::string, std::uint64_t> most;  // of a rank
  for (const rank_log& log : logs)
    for (const auto& [form, reason, calls] : unobserved_of(log)) {
      std::uint64_t& n = most[fmt::format("{}: {}", form, reason)];
      n = std::max(n, calls);
    }
  for (const auto& [reason, calls] : most) total.fallbacks[reason] += calls;
  for (const rank_log& log : logs) {
    merged of_rank;
    comparison all;
    for (const site_log& s : log.sites) {
      const comparison c = comparison::of(s);
      all.sampled += c.sampled;
      all.native += c.native;
      all.own += c.own;
      of_rank.seconds += s.seconds;
      const estimate e = s.waits.of(s.seconds);
      of_rank.waiting = {of_rank.waiting.value + e.value, of_rank.waiting.low + e.low, of_rank.waiting.high + e.high};
      of_rank.waits_known += s.waits.calls;
      of_rank.waits_of += s.calls;
    }
    if (of_rank.seconds >= total.seconds) {
      total.seconds = of_rank.seconds;
      total.waiting = of_rank.waiting;
      total.waits_known = of_rank.waits_known;
      total.waits_of = of_rank.waits_of;
      total.compared = all;
    }
  }
  return total;
}

}  // namespace taquin::interpose
