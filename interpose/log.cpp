#include "interpose/log.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace taquin::interpose {

using nlohmann::json;

std::size_t log_writer::hash::operator()(const std::vector<count_t>& row) const noexcept {
  std::uint64_t h = 14695981039346656037ULL;  // FNV-1a
  for (const count_t v : row) h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211ULL;
  return h;
}

std::uint32_t log_writer::add_comm(known_comm comm) {
  log_.comms.push_back(std::move(comm));
  return static_cast<std::uint32_t>(log_.comms.size() - 1);
}

void log_writer::add_call(std::uint32_t comm, workloads::call_kind kind, bool in_place, count_t element_bytes,
                          const std::vector<count_t>& row, double seconds) {
  auto found = row_ids_.find(row);
  if (found == row_ids_.end()) {
    found = row_ids_.emplace(row, static_cast<std::uint32_t>(log_.rows.size())).first;
    log_.rows.push_back(row);
  }
  const signature what{comm, found->second, kind, in_place, element_bytes};
  if (log_.runs.empty() || log_.runs.back().what != what) {
    log_.runs.push_back({what, 1, seconds, seconds, seconds});
    return;
  }
  run_of_calls& run = log_.runs.back();
  ++run.repeats;
  run.total += seconds;
  run.min = std::min(run.min, seconds);
  run.max = std::max(run.max, seconds);
}

std::vector<std::uint8_t> rank_log::packed() const {
  json j{{"program", program}, {"rows", rows}, {"comms", json::array()}, {"runs", json::array()}};
  for (const known_comm& c : comms) j["comms"].push_back({c.id.leader, c.id.serial, c.rank, c.world_ranks});
  for (const run_of_calls& r : runs)
    j["runs"].push_back({r.what.comm, r.what.row, static_cast<int>(r.what.kind), r.what.in_place, r.what.element_bytes,
                         r.repeats, r.total, r.min, r.max});
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
    log.runs.push_back({{r.at(0), r.at(1), static_cast<workloads::call_kind>(r.at(2).get<int>()), r.at(3), r.at(4)},
                        r.at(5),
                        r.at(6),
                        r.at(7),
                        r.at(8)});
  return log;
}

}  // namespace taquin::interpose
