#include "select/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/replace_file.hpp"
#include "base/sizes.hpp"
#include "select/read_json.hpp"

namespace taquin::detail {

namespace {

using nlohmann::json;

constexpr int version = 1;
constexpr int most_depth = 16;  // the library's functions that write JSON call themselves
constexpr const char* format_name = "taquin machine profile";

json of(const local_cost& c) { return {{"each", c.each}, {"per_byte", c.per_byte}}; }

json of(const link_model& l) {
  json points = json::array();
  for (const auto& p : l.plogp.points)
    points.push_back({{"bytes", p.bytes},
                      {"send_overhead", p.send_overhead},
                      {"receive_overhead", p.receive_overhead},
                      {"gap", p.gap}});
  return {
      {"hockney", {{"tau", l.hockney.tau}, {"mu", l.hockney.mu}}},
      {"logp",
       {{"latency", l.logp.latency}, {"overhead", l.logp.overhead}, {"gap", l.logp.gap}, {"packet", l.logp.packet}}},
      {"loggp",
       {{"latency", l.loggp.latency},
        {"overhead", l.loggp.overhead},
        {"gap", l.loggp.gap},
        {"per_byte", l.loggp.per_byte}}},
      {"plogp", {{"latency", l.plogp.latency}, {"points", points}}}};
}

json of(const std::vector<measured_point>& points) {
  json all = json::array();
  for (const auto& m : points)
    all.push_back({{"algorithm", m.algorithm},
                   {"ranks", m.ranks},
                   {"collective", name_of(m.kind)},
                   {"in_place", m.in_place},
                   {"symmetric", m.symmetric},
                   {"reused", m.reused},
                   {"skew", m.skew},
                   {"bytes", m.bytes},
                   {"time", m.time},
                   {"predicted", m.predicted > 0 ? json(m.predicted) : json()}});
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].high > 0) all[i]["ci95"] = {points[i].low, points[i].high};
  return all;
}

json of(const std::vector<fit_quality>& fits) {
  json all = json::array();
  for (const auto& f : fits)
    all.push_back({{"model", name_of(f.kind)},
                   {"level", f.level},
                   {"median_error", f.median},
                   {"p90_error", f.p90},
                   {"poor", f.median > poor_fit}});
  return all;
}

json of(const hardware& h) {
  return {{"processor", h.processor}, {"sockets", h.sockets}, {"cores", h.cores},
          {"memory", h.memory},       {"mpi", h.mpi},         {"link", h.link}};
}

json of(const std::vector<rule>& rules) {
  json all = json::array();
  for (const rule& r : rules) {
    json j{{"algorithm", r.algorithm}};
    if (r.kind) j["collective"] = name_of(*r.kind);
    if (r.in_place) j["in_place"] = *r.in_place;
    if (r.reused) j["reused"] = *r.reused;
    if (r.ranks > 0) j["ranks"] = r.ranks;
    if (r.nodes > 0) j["nodes"] = r.nodes;
    if (r.least_bytes > 0) j["least_bytes"] = r.least_bytes;
    if (std::isfinite(r.most_bytes)) j["most_bytes"] = r.most_bytes;
    if (!r.site.empty()) j["site"] = r.site;
    all.push_back(std::move(j));
  }
  return all;
}

double number(const json& value, double most, const char* key) {
  const double v = value.get<double>();
  if (!std::isfinite(v) || v < 0 || v > most) throw profile_error(fmt::format("'{}' is {}", key, v));
  return v;
}
double number(const json& j, const char* key, double most) { return number(j.at(key), most, key); }
// Numbers with a fraction, or beyond the type, are none.
template <class T>
T integer(const json& j, const char* key, T least = 0) {
  const json& v = j.at(key);
  const bool fits = v.is_number_unsigned() ? std::in_range<T>(v.get<std::uint64_t>())
                                           : v.is_number_integer() && std::in_range<T>(v.get<std::int64_t>());
  if (!fits || v.get<T>() < least) throw profile_error(fmt::format("'{}' is {}", key, v.dump()));
  return v.get<T>();
}
constexpr double most_seconds = 10;
constexpr double most_per_byte = 1e-3;

local_cost local(const json& j) { return {number(j, "each", most_seconds), number(j, "per_byte", most_per_byte)}; }

link_model link(const json& j) {
  link_model l;
  const json& h = j.at("hockney");
  l.hockney = {number(h, "tau", most_seconds), number(h, "mu", most_per_byte)};
  const json& p = j.at("logp");
  l.logp = {number(p, "latency", most_seconds), number(p, "overhead", most_seconds), number(p, "gap", most_seconds),
            integer<count_t>(p, "packet", 1)};
  const json& g = j.at("loggp");
  l.loggp = {number(g, "latency", most_seconds), number(g, "overhead", most_seconds), number(g, "gap", most_seconds),
             number(g, "per_byte", most_per_byte)};
  l.plogp.latency = number(j.at("plogp"), "latency", most_seconds);
  for (const json& q : j.at("plogp").at("points")) {
    const plogp::point point{integer<count_t>(q, "bytes"), number(q, "send_overhead", most_seconds),
                             number(q, "receive_overhead", most_seconds), number(q, "gap", most_seconds)};
    if (!l.plogp.points.empty() && point.bytes <= l.plogp.points.back().bytes)
      throw profile_error("the points of plogp are not in ascending order");
    l.plogp.points.push_back(point);
  }
  if (l.plogp.points.empty()) throw profile_error("plogp has no points");
  return l;
}

exchange::form form_of(const json& j) {
  using form = exchange::form;
  for (const form f : {form::alltoall, form::alltoallv, form::alltoallw})
    if (j.get<std::string>() == name_of(f)) return f;
  throw profile_error("unknown collective " + j.dump());
}

rule rule_of(const json& j) {
  constexpr std::array<std::string_view, 9> known{"algorithm", "collective",  "in_place",   "reused", "ranks",
                                                  "nodes",     "least_bytes", "most_bytes", "site"};
  for (const auto& [key, value] : j.items())
    if (std::ranges::find(known, key) == known.end()) throw profile_error("a rule has '" + key + "'");
  rule r;
  r.algorithm = j.at("algorithm").get<std::string>();
  if (find_algorithm(r.algorithm) == nullptr)
    throw profile_error(
        fmt::format("a rule names the unknown algorithm '{}'; known are {}", r.algorithm, algorithm_names()));
  if (j.contains("collective")) r.kind = form_of(j["collective"]);
  if (j.contains("in_place")) r.in_place = j["in_place"].get<bool>();
  if (j.contains("reused")) r.reused = j["reused"].get<bool>();
  constexpr double most_bytes = 1e18;
  if (j.contains("ranks")) r.ranks = integer<int>(j, "ranks");
  if (j.contains("nodes")) r.nodes = integer<int>(j, "nodes");
  if (j.contains("least_bytes")) r.least_bytes = number(j, "least_bytes", most_bytes);
  if (j.contains("most_bytes")) r.most_bytes = number(j, "most_bytes", most_bytes);
  if (r.least_bytes > r.most_bytes)
    throw profile_error(fmt::format("a rule is for {} to {} bytes", r.least_bytes, r.most_bytes));
  if (j.contains("site")) r.site = j["site"].get<std::string>();
  return r;
}

model_kind kind_of(const std::string& name) {
  for (const model_kind k : all_models)
    if (name == name_of(k)) return k;
  throw profile_error(fmt::format("unknown model '{}'", name));
}

measured_point point(const json& j) {
  measured_point m;
  m.algorithm = j.at("algorithm").get<std::string>();
  m.ranks = integer<int>(j, "ranks");
  m.kind = form_of(j.at("collective"));
  m.in_place = j.at("in_place").get<bool>();
  m.symmetric = j.at("symmetric").get<bool>();
  m.reused = j.at("reused").get<bool>();
  m.skew = integer<int>(j, "skew");
  m.bytes = number(j, "bytes", 1e18);
  m.time = number(j, "time", 1e6);
  if (j.contains("predicted") && !j.at("predicted").is_null()) m.predicted = number(j, "predicted", 1e6);
  if (m.time <= 0) throw profile_error("a measured time is 0");
  if (j.contains("ci95")) {
    constexpr double most = 1e6;
    m.low = number(j["ci95"].at(0), most, "ci95");
    m.high = number(j["ci95"].at(1), most, "ci95");
    if (m.low > m.high) throw profile_error("the ends of an interval 'ci95' are the wrong way round");
  }
  return m;
}

fit_quality fit_of(const json& j) {
  constexpr double most_error = 1e9;
  const int level = integer<int>(j, "level");
  if (level > 1) throw profile_error(fmt::format("'level' is {}", level));
  return {kind_of(j.at("model").get<std::string>()), level, number(j, "median_error", most_error),
          number(j, "p90_error", most_error)};
}

hardware hardware_of(const json& j) {
  return {j.at("processor").get<std::string>(), integer<int>(j, "sockets"),     integer<int>(j, "cores"),
          integer<std::uint64_t>(j, "memory"),  j.at("mpi").get<std::string>(), j.at("link").get<std::string>()};
}

// Rules alone, for the built-in model and any machine.
bool has_only_rules(const json& j) {
  return j.is_object() && j.size() == 1 && j.contains("rules") && j["rules"].is_array();
}

profile parse(const json& j) {
  if (has_only_rules(j)) {
    profile p;
    p.given = true;
    for (const json& q : j["rules"]) p.rules.push_back(rule_of(q));
    return p;
  }
  const auto named = j.find("format");
  if (named == j.end() || *named != format_name) throw profile_error(and_what_instead("not a machine profile", j));
  if (j.at("version") != version)
    throw profile_error(fmt::format("version {}, not {}", j.at("version").dump(), version));
  profile p;
  p.given = true;
  machine_model& m = p.model;
  m.kind = kind_of(j.at("model").get<std::string>());
  const json& levels = j.at("levels");
  if (levels.size() != m.levels.size()) throw profile_error(fmt::format("{} levels, not 2", levels.size()));
  for (std::size_t i = 0; i < m.levels.size(); ++i) m.levels[i] = link(levels[i]);
  m.copy = local(j.at("copy"));
  m.pack = local(j.at("pack"));
  m.line = j.contains("line") ? number(j, "line", most_seconds) : m.copy.each;  // older profiles have none
  m.ports = integer<int>(j, "ports", 1);
  m.ranks_per_core = number(j, "ranks_per_core", 1e6);
  if (m.ranks_per_core < 1) throw profile_error(fmt::format("'ranks_per_core' is {}", m.ranks_per_core));
  m.wait = number(j, "wait", most_seconds);
  m.ranks = integer<int>(j, "ranks");
  m.machine = j.at("machine").get<std::string>();
  for (const json& q : j.at("measured")) p.points.push_back(point(q));
  if (j.contains("rules"))
    for (const json& q : j["rules"]) p.rules.push_back(rule_of(q));
  if (j.contains("fit"))
    for (const json& q : j["fit"]) p.fits.push_back(fit_of(q));
  if (j.contains("hardware")) p.made_on = hardware_of(j["hardware"]);
  return p;
}

}  // namespace

std::string to_json(const profile& p) {
  const machine_model& m = p.model;
  json j{{"format", format_name},
         {"version", version},
         {"model", name_of(m.kind)},
         {"levels", {of(m.levels[0]), of(m.levels[1])}},
         {"copy", of(m.copy)},
         {"pack", of(m.pack)},
         {"line", m.line},
         {"ports", m.ports},
         {"ranks_per_core", m.ranks_per_core},
         {"wait", m.wait},
         {"ranks", m.ranks},
         {"machine", m.machine},
         {"measured", of(p.points)}};
  if (!p.rules.empty()) j["rules"] = of(p.rules);
  if (!p.fits.empty()) j["fit"] = of(p.fits);
  if (p.made_on != hardware{}) j["hardware"] = of(p.made_on);
  return j.dump(2);
}

profile from_json(const std::string& text) {
  try {
    return parse(parse_json<profile_error>(text, most_depth));
  } catch (const json::exception& e) {
    throw profile_error(words_of(e));
  }
}

profile read_profile(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw profile_error(fmt::format("cannot read '{}'", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return from_json(text.str());
  } catch (const profile_error& e) {
    throw profile_error(fmt::format("{}: {}", file.string(), e.what()));
  }
}

void write_profile(const std::filesystem::path& file, const profile& p) {
  if (const auto why = replace_file(file.string(), to_json(p) + '\n'))
    throw profile_error(fmt::format("cannot write '{}': {}", file.string(), *why));
}

}  // namespace taquin::detail
