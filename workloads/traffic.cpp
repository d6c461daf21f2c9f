#include "workloads/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/replace_file.hpp"
#include "base/sizes.hpp"
#include "select/read_json.hpp"

namespace taquin::workloads {

namespace {

using nlohmann::json;
using flow = byte_matrix::flow;

constexpr int version = 1;
constexpr std::int64_t most_ranks = 1 << 20;
constexpr int most_depth = 16;  // the library's functions that write JSON call themselves
constexpr const char* names[] = {"alltoall",           "alltoallv",          "alltoallw", "neighbor_alltoall",
                                 "neighbor_alltoallv", "neighbor_alltoallw", "sparse"};
constexpr const char* forms[] = {"blocking", "nonblocking", "persistent"};

[[noreturn]] void damaged(const std::string& what) { throw traffic_error(what); }

const json& member(const json& object, const char* key, std::string_view where) {
  if (!object.is_object()) damaged(fmt::format("{} is not an object", where));
  const auto found = object.find(key);
  if (found == object.end()) damaged(fmt::format("{} has no \"{}\"", where, key));
  return *found;
}

std::int64_t integer(const json& value, const std::string& where, std::int64_t least, std::int64_t most) {
  if (!value.is_number_integer()) damaged(fmt::format("{} is not an integer: {}", where, value.dump()));
  const bool huge = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (huge || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    damaged(fmt::format("{} is {}, not within {} to {}", where, value.dump(), least, most));
  return value.get<std::int64_t>();
}

const json& array(const json& value, std::string_view where) {
  if (!value.is_array()) damaged(fmt::format("{} is not an array", where));
  return value;
}

std::int64_t bytes_of(const json& value, const std::string& where) {
  return integer(value, where, 0, std::numeric_limits<std::int64_t>::max());
}

void check_sums(const std::vector<flow>& flows, const std::string& where) {
  count_t sum = 0;
  for (const flow& f : flows) {
    if (f.bytes > std::numeric_limits<count_t>::max() - sum) damaged(where + ": the sum of its bytes is over 2^63");
    sum += f.bytes;
  }
}

std::size_t pairs_of(int ranks) { return detail::as_size(ranks) * detail::as_size(ranks); }

// `room`: pairs of ranks that uniform matrices may still have. A few bytes of a file stand for all of them.
byte_matrix matrix_from(const json& j, int world, std::size_t& room, const std::string& where) {
  const auto ranks = static_cast<int>(integer(member(j, "ranks", where), where + ".ranks", 1, world));
  std::vector<flow> flows;
  if (j.contains("uniform")) {
    const std::int64_t bytes = bytes_of(j["uniform"], where + ".uniform");
    const std::size_t pairs = bytes > 0 ? pairs_of(ranks) : 0;
    if (pairs > room)
      damaged(
          fmt::format("{} is uniform over {} ranks: the uniform matrices of a file may have {} pairs of ranks in all",
                      where, ranks, most_uniform_pairs));
    room -= pairs;
    for (int from = 0; bytes > 0 && from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) flows.push_back({from, to, bytes});
  } else if (j.contains("rows")) {
    const json& rows = array(j["rows"], where + ".rows");
    if (rows.size() != detail::as_size(ranks))
      damaged(fmt::format("{} has {} rows for {} ranks", where, rows.size(), ranks));
    for (int from = 0; from < ranks; ++from) {
      const std::string row = fmt::format("{}.rows[{}]", where, from);
      const json& columns = array(rows[detail::as_size(from)], row);
      if (columns.size() != rows.size())
        damaged(fmt::format("{} has {} columns for {} ranks", row, columns.size(), ranks));
      for (int to = 0; to < ranks; ++to)
        if (const auto bytes = bytes_of(columns[detail::as_size(to)], fmt::format("{}[{}]", row, to)); bytes > 0)
          flows.push_back({from, to, bytes});
    }
  } else {
    for (const json& f : array(member(j, "flows", where), where + ".flows")) {
      if (!f.is_array() || f.size() != 3)
        damaged(fmt::format("{}: a flow is not [from, to, bytes]: {}", where, f.dump()));
      flows.push_back({static_cast<int>(integer(f[0], where + ": a flow's sender", 0, ranks - 1)),
                       static_cast<int>(integer(f[1], where + ": a flow's receiver", 0, ranks - 1)),
                       integer(f[2], where + ": a flow's bytes", 1, std::numeric_limits<std::int64_t>::max())});
    }
    const auto place = [](const flow& f) { return std::pair(f.from, f.to); };
    std::ranges::sort(flows, {}, place);
    if (std::ranges::adjacent_find(flows, {}, place) != flows.end())
      damaged(where + " has two flows between the same ranks");
  }
  check_sums(flows, where);
  return {ranks, std::move(flows)};
}

// The shortest of three forms.
json to_json(const byte_matrix& m, std::size_t& room) {
  json j{{"ranks", m.ranks()}};
  const std::size_t cells = pairs_of(m.ranks());
  const auto& flows = m.flows();
  const bool uniform = cells <= room && flows.size() == cells &&
                       std::ranges::all_of(flows, [&](const flow& f) { return f.bytes == flows.front().bytes; });
  if (uniform) {
    j["uniform"] = flows.front().bytes;
    room -= cells;
  } else if (flows.size() * 3 < cells) {
    j["flows"] = json::array();
    for (const flow& f : flows) j["flows"].push_back({f.from, f.to, f.bytes});
  } else {
    j["rows"] = json::array();
    for (int rank = 0; rank < m.ranks(); ++rank) j["rows"].push_back(m.sent_by(rank));
  }
  return j;
}

double seconds_from(const json& j, const char* key, const std::string& where) {
  const json& value = member(j, key, where);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
    damaged(fmt::format("{}.{} is not a time: {}", where, key, value.dump()));
  return value.get<double>();
}

// Of the bytes of all flows; 0 where there are none.
count_t common_divisor(const byte_matrix& m) {
  count_t divisor = 0;
  for (const flow& f : m.flows()) divisor = std::gcd(divisor, f.bytes);
  return divisor;
}

recorded_call call_from(const json& j, const traffic& t, const std::vector<count_t>& divisors,
                        const std::string& where) {
  recorded_call c;
  const auto index = [&](const char* key, std::size_t size) {
    if (size == 0) damaged(fmt::format("{}.{}: there is none in the file", where, key));
    return detail::as_size(
        integer(member(j, key, where), fmt::format("{}.{}", where, key), 0, static_cast<std::int64_t>(size) - 1));
  };
  c.communicator = index("communicator", t.communicators.size());
  c.matrix = index("matrix", t.matrices.size());
  const json& kind = member(j, "kind", where);
  const auto* name = std::ranges::find_if(names, [&](const char* n) { return kind == n; });
  if (name == std::end(names)) damaged(fmt::format("{}.kind is not known: {}", where, kind.dump()));
  c.kind = static_cast<call_kind>(name - std::begin(names));
  if (j.contains("form")) {
    const auto* form = std::ranges::find_if(forms, [&](const char* n) { return j["form"] == n; });
    if (form == std::end(forms)) damaged(fmt::format("{}.form is not known: {}", where, j["form"].dump()));
    c.form = static_cast<call_form>(form - std::begin(forms));
  }
  if (j.contains("in_flight"))
    c.in_flight =
        static_cast<int>(integer(j["in_flight"], where + ".in_flight", 0, std::numeric_limits<std::int32_t>::max()));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  c.element_bytes = integer(member(j, "element_bytes", where), where + ".element_bytes", 1, most);
  const json& in_place = member(j, "in_place", where);
  if (!in_place.is_boolean()) damaged(where + ".in_place is neither true nor false");
  c.in_place = in_place.get<bool>();
  c.repeats = static_cast<std::uint64_t>(integer(member(j, "repeats", where), where + ".repeats", 1, most));
  const json& seconds = member(j, "seconds", where);
  c.seconds = {seconds_from(seconds, "min", where + ".seconds"), seconds_from(seconds, "mean", where + ".seconds"),
               seconds_from(seconds, "max", where + ".seconds"),
               seconds.contains("waiting") ? seconds_from(seconds, "waiting", where + ".seconds") : 0};
  const byte_matrix& m = t.matrices[c.matrix];
  if (m.ranks() != static_cast<int>(t.communicators[c.communicator].size()))
    damaged(fmt::format("{}: matrix {} is for {} ranks, communicator {} has {}", where, c.matrix, m.ranks(),
                        c.communicator, t.communicators[c.communicator].size()));
  if (divisors[c.matrix] % c.element_bytes == 0) return c;
  for (const flow& f : m.flows())
    if (f.bytes % c.element_bytes != 0)
      damaged(fmt::format("{}: {} bytes from rank {} to {} are not whole elements of {} bytes", where, f.bytes, f.from,
                          f.to, c.element_bytes));
  return c;
}

traffic from_json(const json& j) {
  if (!j.is_object() || !j.contains("taquin_traffic")) damaged(detail::and_what_instead("not a traffic file", j));
  if (j["taquin_traffic"] != version)
    damaged(
        fmt::format("version {} of the format; this program reads version {}", j["taquin_traffic"].dump(), version));
  traffic t;
  const json& program = member(j, "program", "the file");
  if (!program.is_string()) damaged("program is not a string");
  t.program = program.get<std::string>();
  t.ranks = static_cast<int>(integer(member(j, "ranks", "the file"), "ranks", 1, most_ranks));
  for (const json& c : array(member(j, "communicators", "the file"), "communicators")) {
    const std::string where = fmt::format("communicators[{}]", t.communicators.size());
    std::set<int> members;
    auto& ranks = t.communicators.emplace_back();
    for (const json& r : array(member(c, "world_ranks", where), where + ".world_ranks")) {
      ranks.push_back(static_cast<int>(integer(r, where + ": a rank", 0, t.ranks - 1)));
      if (!members.insert(ranks.back()).second) damaged(fmt::format("{} has rank {} twice", where, ranks.back()));
    }
    if (ranks.empty()) damaged(where + " has no ranks");
  }
  std::size_t room = most_uniform_pairs;
  for (const json& m : array(member(j, "matrices", "the file"), "matrices"))
    t.matrices.push_back(matrix_from(m, t.ranks, room, fmt::format("matrices[{}]", t.matrices.size())));
  std::vector<count_t> divisors;
  for (const byte_matrix& m : t.matrices) divisors.push_back(common_divisor(m));
  for (const json& c : array(member(j, "calls", "the file"), "calls"))
    t.calls.push_back(call_from(c, t, divisors, fmt::format("calls[{}]", t.calls.size())));
  return t;
}

}  // namespace

std::string_view name_of(call_form form) { return forms[detail::as_size(form)]; }

std::string_view name_of(call_kind kind) { return names[detail::as_size(kind)]; }

byte_matrix::byte_matrix(int ranks, std::vector<flow> flows) : ranks_(ranks), flows_(std::move(flows)) {}

count_t byte_matrix::at(int from, int to) const {
  const auto place = [](const flow& f) { return std::pair(f.from, f.to); };
  const auto found = std::ranges::lower_bound(flows_, std::pair(from, to), {}, place);
  return found != flows_.end() && place(*found) == std::pair(from, to) ? found->bytes : 0;
}

std::vector<count_t> byte_matrix::sent_by(int rank) const {
  std::vector<count_t> row(detail::as_size(ranks_));
  for (const flow& f : std::ranges::equal_range(flows_, rank, {}, &flow::from)) row[detail::as_size(f.to)] = f.bytes;
  return row;
}

std::vector<count_t> byte_matrix::received_by(int rank) const {
  std::vector<count_t> column(detail::as_size(ranks_));
  for (const flow& f : flows_)
    if (f.to == rank) column[detail::as_size(f.from)] = f.bytes;
  return column;
}

count_t byte_matrix::total() const {
  count_t sum = 0;
  for (const flow& f : flows_) sum += f.bytes;
  return sum;
}

count_t byte_matrix::most_sent() const {
  std::vector<count_t> sums(detail::as_size(ranks_));
  for (const flow& f : flows_) sums[detail::as_size(f.from)] += f.bytes;
  return sums.empty() ? 0 : std::ranges::max(sums);
}

traffic read_traffic(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path, ignored))
    throw traffic_error(
        fmt::format("cannot read traffic file {}: {}", path.string(), std::strerror(in ? EISDIR : errno)));
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return parse_traffic(text.str());
  } catch (const traffic_error& e) {
    throw traffic_error(fmt::format("traffic file {}: {}", path.string(), e.what()));
  }
}

traffic parse_traffic(std::string_view text) {
  try {
    return from_json(detail::parse_json<traffic_error>(text, most_depth));
  } catch (const json::exception& e) {
    throw traffic_error(detail::words_of(e));
  }
}

std::string traffic_text(const traffic& t) {
  json j{{"taquin_traffic", version}, {"program", t.program}, {"ranks", t.ranks}};
  j["communicators"] = json::array();
  for (const auto& ranks : t.communicators) j["communicators"].push_back({{"world_ranks", ranks}});
  j["matrices"] = json::array();
  std::size_t room = most_uniform_pairs;
  for (const byte_matrix& m : t.matrices) j["matrices"].push_back(to_json(m, room));
  j["calls"] = json::array();
  for (const recorded_call& c : t.calls) {
    j["calls"].push_back({{"communicator", c.communicator},
                          {"kind", name_of(c.kind)},
                          {"matrix", c.matrix},
                          {"element_bytes", c.element_bytes},
                          {"in_place", c.in_place},
                          {"repeats", c.repeats},
                          {"seconds", {{"min", c.seconds.min}, {"mean", c.seconds.mean}, {"max", c.seconds.max}}}});
    auto& last = j["calls"].back();
    if (c.form != call_form::blocking) last["form"] = forms[detail::as_size(c.form)];
    if (c.in_flight > 0) last["in_flight"] = c.in_flight;
    if (c.seconds.waiting > 0) last["seconds"]["waiting"] = c.seconds.waiting;
  }
  // A command line need not be UTF-8: other bytes are replaced.
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

void write_traffic(const traffic& t, const std::filesystem::path& path) {
  if (const auto why = detail::replace_file(path.string(), traffic_text(t) + '\n', detail::links::replaced))
    throw traffic_error(fmt::format("cannot write traffic file {}: {}", path.string(), *why));
}

}  // namespace taquin::workloads
