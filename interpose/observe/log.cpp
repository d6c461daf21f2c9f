#include "interpose/observe/log.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fingerprint.hpp"

namespace taquin::interpose {

using nlohmann::json;

std::uint32_t log_writer::id_of(const std::vector<count_t>& row) {
  if (!log_.runs.empty() && log_.rows[log_.runs.back().what.row] == row) return log_.runs.back().what.row;
  detail::fingerprint of_row;
  for (const count_t v : row) of_row.add(v);
  const auto [begin, end] = row_ids_.equal_range(of_row.value());
  for (auto known = begin; known != end; ++known)
    if (log_.rows[known->second] == row) return known->second;
  const auto id = static_cast<std::uint32_t>(log_.rows.size());
  log_.rows.push_back(row);
  row_ids_.emplace(of_row.value(), id);
  return id;
}

std::uint32_t log_writer::add_comm(known_comm comm) {
  log_.comms.push_back(std::move(comm));
  return static_cast<std::uint32_t>(log_.comms.size() - 1);
}

std::string name_of_call(workloads::call_kind kind, workloads::call_form form) {
  const std::string name(workloads::name_of(kind));
  if (form == workloads::call_form::nonblocking) return "i" + name;
  return form == workloads::call_form::persistent ? name + "_init" : name;
}

void run_of_calls::took(double seconds) noexcept {
  min = timed == 0 ? seconds : std::min(min, seconds);
  max = std::max(max, seconds);
  total += seconds;
  ++timed;
}

void wait_samples::add(std::uint32_t weight, double wait, double seconds) noexcept {
  const double w = weight;
  const double uncertain = w * (w - 1);
  ++calls;
  waited += w * wait;
  lasted += w * seconds;
  waited_squares += uncertain * wait * wait;
  products += uncertain * wait * seconds;
  lasted_squares += uncertain * seconds * seconds;
}

estimate wait_samples::of(double seconds) const noexcept {
  if (lasted <= 0) return {};
  const double share = waited / lasted;
  const double variance = waited_squares - 2 * share * products + share * share * lasted_squares;
  constexpr double quantile = 1.96;
  const double spread = quantile * std::sqrt(std::max(variance, 0.0)) / lasted;
  return {share * seconds, std::max(share - spread, 0.0) * seconds, std::min(share + spread, 1.0) * seconds};
}

void rank_log::waited(const entry& e, double wait, double arrival, int last) {
  const double clamped = std::clamp(wait, 0.0, std::max(e.seconds, 0.0));
  if (e.run < runs.size()) runs[e.run].waiting += e.stands_for * clamped;
  site_log& s = sites[e.site];
  s.waits.add(e.stands_for, clamped, e.seconds);
  s.arrival += e.stands_for * arrival;
  s.arrivals += e.stands_for;
  waits_for_a_rank& w = s.waited_for[last];
  w.seconds += e.stands_for * clamped;
  w.squares += e.stands_for * clamped * clamped;
}

// Named fields: a log travels to rank 0 of the same library.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(comm_id, leader, serial)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(known_comm, id, rank, world_ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(signature, comm, row, kind, in_place, form, in_flight, element_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_of_calls, what, repeats, total, min, max, waiting, timed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(entry, begin, run, site, stands_for, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(waits_for_a_rank, seconds, squares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(trial_times, library, taquin)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(wait_samples, calls, waited, lasted, waited_squares, products, lasted_squares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(site_log, object, offset, comm, kind, form, calls, bytes, received, seconds, waits,
                                   arrival, arrivals, peak_memory, sampled, sampled_seconds, squares, sampled_squares,
                                   waited_for, sizes, algorithms, fallbacks, trial, flows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(traced_call, site, row, algorithm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(rank_log, program, seconds, node, sites, open, others, comms, rows, runs, traced,
                                   untraced)

std::vector<std::uint8_t> rank_log::packed() const { return json::to_cbor(json(*this)); }

rank_log rank_log::unpacked(const std::vector<std::uint8_t>& bytes) { return json::from_cbor(bytes).get<rank_log>(); }

}  // namespace taquin::interpose
