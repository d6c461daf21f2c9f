#include "interpose/observe/known_calls.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "interpose/observe/recorder_state.hpp"

namespace taquin::interpose {

namespace {

std::uint32_t site_index(recorder_state& s, const call_key& key) {
  static const place nowhere;
  const place& from = s.places ? *static_cast<const place*>(key.site) : nowhere;
  auto& log = s.writer.log();
  const auto [found, fresh] = s.sites.try_emplace({&from, key.comm, key.traits.kind(), key.traits.form()},
                                                  static_cast<std::uint32_t>(log.sites.size()));
  if (fresh) {
    site_log& site = log.sites.emplace_back();
    site.object = from.object;
    site.offset = from.offset;
    site.comm = key.comm;
    site.kind = key.traits.kind();
    site.form = key.traits.form();
  }
  return found->second;
}

bool all_equal(const std::vector<count_t>& row) noexcept {
  return std::ranges::adjacent_find(row, std::ranges::not_equal_to{}) == row.end();
}

}  // namespace

bool known_calls::same_blocks(const blocks& side, const std::vector<count_t>& row) noexcept {
  if (side.types != nullptr || side.counts.missing()) return false;
  const auto size = static_cast<int>(row.size());
  for (int peer = 0; peer < size; ++peer)
    if (side.counts[peer] * side.element.size != row[static_cast<std::size_t>(peer)]) return false;
  return true;
}

known_call* known_calls::find(const call_key& key, const moved& m) noexcept {
  known_call& k = at(key);
  return k.key == key && k.what.element_bytes == m.element_bytes && k.data.sent == m.sent &&
                 k.data.received == m.received
             ? &k
             : nullptr;
}

known_call& known_calls::add(recorder_state& s, const call_key& key, std::string_view algorithm, const moved& m) {
  known_call& k = at(key);
  flush(s, k);
  end_run(s);
  k = {};
  k.what = {key.comm,          s.writer.id_of(m.sent), key.traits.kind(), key.traits.in_place(),
            key.traits.form(), key.in_flight,          m.element_bytes};
  k.site = site_index(s, key);
  k.algorithm = algorithm;
  k.data = m;
  k.equal = all_equal(m.sent) && all_equal(m.received);
  k.key = key;
  return k;
}

void known_calls::begin_run(recorder_state& s, const known_call& k) {
  end_run(s);
  auto& runs = s.writer.log().runs;
  if (runs.empty() || runs.back().what != k.what) runs.emplace_back().what = k.what;
  run_ = static_cast<std::uint32_t>(runs.size() - 1);
  last_ = &k;
}

void known_calls::end_run(recorder_state& s) {
  if (last_ == nullptr) return;
  s.writer.log().runs[run_].repeats += repeats_;
  repeats_ = 0;
  last_ = nullptr;
}

void known_calls::change_reason(recorder_state& s, known_call& k, const char* reason) {
  if (k.passed_on > 0) s.writer.log().sites[k.site].fallbacks[k.reason] += k.passed_on;
  k.passed_on = 0;
  k.reason = reason;
}

void known_calls::flush(recorder_state& s, known_call& k) {
  if (k.calls == 0) return;
  change_reason(s, k, nullptr);
  site_log& site = s.writer.log().sites[k.site];
  const auto n = static_cast<count_t>(k.calls);
  const double seconds = s.clock.seconds(k.ticks);
  const double squares = k.squares * s.clock.seconds(1) * s.clock.seconds(1);
  site.calls += k.calls;
  site.bytes += n * std::accumulate(k.data.sent.begin(), k.data.sent.end(), count_t{0});
  site.seconds += seconds;
  site.squares += squares;
  site.peak_memory = std::max(site.peak_memory, k.peak_memory);
  site.algorithms[std::string(k.algorithm)] += k.calls;
  if (k.key.traits.sampled() && k.key.traits.form() == call_form::blocking) {
    site.sampled += k.calls;
    site.sampled_seconds += seconds;
    site.sampled_squares += squares;
  }
  if (s.full) {
    site.received += n * std::accumulate(k.data.received.begin(), k.data.received.end(), count_t{0});
    site.flows.resize(k.data.sent.size());
    for (std::size_t i = 0; i < k.data.sent.size(); ++i) {
      const count_t bytes = k.data.sent[i];
      site.flows[i] += n * bytes;
      site.sizes[bytes == 0 ? -1 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1] += k.calls;
    }
  }
  k.calls = 0;
  k.ticks = 0;
  k.squares = 0;
}

void known_calls::flush(recorder_state& s) {
  end_run(s);
  for (known_call& k : all_) flush(s, k);
}

}  // namespace taquin::interpose
