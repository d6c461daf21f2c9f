#include "interpose/observe/log.hpp"

#include <algorithm>
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

void rank_log::waited(std::uint32_t run, std::uint32_t site, std::uint32_t calls, double wait, double arrival,
                      int last) {
  if (run < runs.size()) runs[run].waiting += calls * wait;
  site_log& s = sites[site];
  s.waiting += calls * wait;
  s.arrival += calls * arrival;
  s.arrivals += calls;
  waits& w = s.waited_for[last];
  w.seconds += calls * wait;
  w.squares += calls * wait * wait;
}

std::vector<std::uint8_t> rank_log::packed() const {
  json j{{"program", program},    {"rows", rows},           {"comms", json::array()},
         {"runs", json::array()}, {"seconds", seconds},     {"node", node},
         {"others", others},      {"sites", json::array()}, {"open", json::array()}};
  for (const site_log& s : sites) {
    json waited_for = json::array();
    for (const auto& [last, w] : s.waited_for) waited_for.push_back({last, w.seconds, w.squares});
    j["sites"].push_back({s.object,
                          s.offset,
                          s.comm,
                          static_cast<int>(s.kind),
                          static_cast<int>(s.form),
                          s.calls,
                          s.bytes,
                          s.received,
                          s.seconds,
                          s.waiting,
                          s.arrival,
                          s.arrivals,
                          s.peak_memory,
                          waited_for,
                          s.sizes,
                          s.algorithms,
                          s.fallbacks,
                          s.flows,
                          s.sampled,
                          s.sampled_seconds,
                          s.squares,
                          s.sampled_squares});
  }
  for (const auto& of_comm : open) {
    auto& list = j["open"].emplace_back(json::array());
    for (const entry& e : of_comm) list.push_back({e.begin, e.run, e.site, e.stands_for});
  }
  for (const known_comm& c : comms) j["comms"].push_back({c.id.leader, c.id.serial, c.rank, c.world_ranks});
  j["traced"] = {json::array(), untraced};
  for (const traced_call& t : traced) j["traced"][0].push_back({t.site, t.row, t.algorithm});
  for (const run_of_calls& r : runs)
    j["runs"].push_back({r.what.comm, r.what.row, static_cast<int>(r.what.kind), r.what.in_place, r.what.element_bytes,
                         r.repeats, r.total, r.min, r.max, static_cast<int>(r.what.form), r.waiting, r.what.in_flight});
  return json::to_cbor(j);
}

rank_log rank_log::unpacked(const std::vector<std::uint8_t>& bytes) {
  const json j = json::from_cbor(bytes);
  rank_log log;
  log.program = j.at("program");
  log.rows = j.at("rows").get<std::vector<std::vector<count_t>>>();
  for (const json& c : j.at("comms"))
    log.comms.push_back({{c.at(0), c.at(1)}, c.at(2), c.at(3).get<std::vector<int>>()});
  for (const json& r : j.at("runs"))
    log.runs.push_back({{r.at(0), r.at(1), static_cast<workloads::call_kind>(r.at(2).get<int>()), r.at(3),
                         static_cast<workloads::call_form>(r.at(9).get<int>()), r.at(11), r.at(4)},
                        r.at(5),
                        r.at(6),
                        r.at(7),
                        r.at(8),
                        r.at(10)});
  log.seconds = j.at("seconds");
  log.node = j.at("node");
  for (const json& t : j.at("traced").at(0)) log.traced.push_back({t.at(0), t.at(1), t.at(2)});
  log.untraced = j.at("traced").at(1);
  log.others = j.at("others").get<std::vector<std::uint64_t>>();
  for (const json& s : j.at("sites")) {
    log.sites.push_back({s.at(0),
                         s.at(1),
                         s.at(2),
                         static_cast<workloads::call_kind>(s.at(3).get<int>()),
                         static_cast<workloads::call_form>(s.at(4).get<int>()),
                         s.at(5),
                         s.at(6),
                         s.at(7),
                         s.at(8),
                         s.at(9),
                         s.at(10),
                         s.at(11),
                         s.at(12),
                         s.at(18),
                         s.at(19),
                         s.at(20),
                         s.at(21),
                         {},
                         {},
                         {},
                         {},
                         {}});
    site_log& last = log.sites.back();
    for (const json& w : s.at(13)) last.waited_for[w.at(0)] = {w.at(1), w.at(2)};
    last.sizes = s.at(14).get<std::map<int, std::uint64_t>>();
    last.algorithms = s.at(15).get<std::map<std::string, std::uint64_t>>();
    last.fallbacks = s.at(16).get<std::map<std::string, std::uint64_t>>();
    last.flows = s.at(17).get<std::vector<count_t>>();
  }
  for (const json& of_comm : j.at("open")) {
    auto& list = log.open.emplace_back();
    for (const json& e : of_comm) list.push_back({e.at(0), e.at(1), e.at(2), e.at(3)});
  }
  return log;
}

}  // namespace taquin::interpose
