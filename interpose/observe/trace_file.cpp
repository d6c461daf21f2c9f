// Each rank is a process of the trace. Its tracks: "calls", with waiting and transfer within each; "in flight", calls
// that are complete later; "rounds", "sends" and "receives" of schedules; "scratch memory". A flow goes from each call
// to those of the ranks that it sends to, and from each message's send to its receive.
#include "interpose/observe/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/replace_file.hpp"
#include "interpose/call_site.hpp"
#include "interpose/observe/perfetto.hpp"
#include "interpose/say.hpp"

namespace taquin::interpose {

namespace {

using kind = traced_event::kind;
using perfetto::event_type;

// An event of a rank, and the related events of other ranks.
struct traced {
  int rank = 0;
  const traced_event* event = nullptr;
  std::uint64_t transfer = 0;  // since when all ranks are there; 0: not known
  perfetto::flow_ids starts{};
  perfetto::flow_ids arrives{};

  [[nodiscard]] bool is_call() const noexcept { return event->which <= kind::in_flight; }
};

class trace_of_all {
 public:
  trace_of_all(const std::vector<rank_log>& logs, std::uint64_t most) : logs_(logs) {
    for (const rank_log& log : logs_) left_out_ += log.untraced;
    take_what_fits(most);
    pair_calls();
    pair_messages();
    for (const traced& t : all_) add(t);
    if (left_out_ > 0 && most >= space_for_tracks()) report_what_is_missing();
    std::ranges::stable_sort(packets_, {}, &timed_packet::nanoseconds);
  }

  void write(std::ostream& out) const {
    for (const std::string& track : tracks_) out << track;
    for (const timed_packet& p : packets_) out << p.bytes;
  }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  [[nodiscard]] std::size_t events() const noexcept { return all_.size(); }

 private:
  struct timed_packet {
    std::uint64_t nanoseconds;
    std::string bytes;
  };
  // A call on all its ranks.
  using call_id = std::tuple<comm_id, std::uint64_t>;

  [[nodiscard]] const rank_log& log_of(const traced& t) const { return logs_[static_cast<std::size_t>(t.rank)]; }
  [[nodiscard]] const traced_call& call_of(const traced& t) const { return log_of(t).traced[t.event->what]; }
  [[nodiscard]] const site_log& site_of(const traced& t) const { return log_of(t).sites[call_of(t).site]; }
  [[nodiscard]] const known_comm& comm_of(const traced& t) const {
    return log_of(t).comms[t.is_call() ? site_of(t).comm : t.event->what];
  }
  [[nodiscard]] const std::vector<count_t>& row_of(const traced& t) const { return log_of(t).rows[call_of(t).row]; }

  [[nodiscard]] std::uint64_t most_bytes(const traced& t) const;
  // And the line with the number of missing events.
  [[nodiscard]] std::uint64_t space_for_tracks() const noexcept {
    constexpr std::uint64_t of_a_rank = 1024;
    return of_a_rank * logs_.size();
  }
  void take_what_fits(std::uint64_t most);
  void pair_calls();
  void join(const std::vector<traced*>& ranks);
  void pair_messages();
  void connect(traced& from, traced& to);
  void add(const traced& t);
  void add_call(const traced& t, std::uint64_t track);
  void put(perfetto::track_event&& e);
  void report_what_is_missing();
  std::uint64_t track(int rank, kind which, std::uint64_t lane, const char* name);
  std::uint64_t free_lane(const traced& t);
  const std::string& place_of_site(const site_log& s);

  const std::vector<rank_log>& logs_;
  std::uint64_t left_out_ = 0;
  std::uint64_t flows_ = 0;
  std::vector<traced> all_;  // in the order of their beginnings
  std::vector<std::string> tracks_;
  std::vector<timed_packet> packets_;
  std::set<std::uint64_t> known_tracks_;
  std::map<std::pair<int, kind>, std::vector<std::uint64_t>> lanes_;  // when each is free
  std::map<std::pair<std::string, std::uint64_t>, std::string> places_;
};

// ---- Events within the size limit ----

// The most bytes of an event in the file, without its tracks.
std::uint64_t trace_of_all::most_bytes(const traced& t) const {
  constexpr std::uint64_t packet = 48;  // without its texts and flows
  constexpr std::uint64_t flow = 10;
  if (!t.is_call()) return 3 * packet + 2 * flow;
  constexpr std::uint64_t packets = 9;
  constexpr std::uint64_t texts = 96;
  const traced_call& c = call_of(t);
  const std::uint64_t peers = row_of(t).size();
  return packets * packet + texts + c.algorithm.size() + 2 * flow * peers;
}

void trace_of_all::take_what_fits(std::uint64_t most) {
  for (std::size_t rank = 0; rank < logs_.size(); ++rank)
    for (const traced_event& e : logs_[rank].events) all_.push_back({static_cast<int>(rank), &e});
  std::ranges::stable_sort(all_, {}, [](const traced& t) { return t.event->begin; });
  std::uint64_t taken = space_for_tracks();
  std::size_t fit = 0;
  for (; fit < all_.size(); ++fit) {
    const traced& t = all_[fit];
    taken += most_bytes(t);
    if (t.is_call()) taken += place_of_site(site_of(t)).size();
    if (taken > most) break;
  }
  left_out_ += all_.size() - fit;
  all_.resize(fit);
}

// ---- Relations between ranks' events ----

void trace_of_all::pair_calls() {
  std::map<call_id, std::vector<traced*>> calls;
  for (traced& t : all_) {
    if (!t.is_call()) continue;
    const known_comm& c = comm_of(t);
    auto& ranks = calls[{c.id, t.event->number}];
    ranks.resize(c.world_ranks.size());
    ranks[static_cast<std::size_t>(c.rank)] = &t;
  }
  for (const auto& [id, ranks] : calls)
    if (std::ranges::find(ranks, nullptr) == ranks.end()) join(ranks);
}

void trace_of_all::join(const std::vector<traced*>& ranks) {
  std::uint64_t last = 0;
  for (const traced* t : ranks) last = std::max(last, t->event->begin);
  for (traced* t : ranks)
    if (t->event->which == kind::call && waits_for_all(site_of(*t).kind)) t->transfer = std::min(last, t->event->end);
  for (traced* from : ranks) {
    const auto& row = row_of(*from);
    for (std::size_t to = 0; to < row.size() && to < ranks.size(); ++to)
      if (row[to] > 0 && ranks[to] != from) connect(*from, *ranks[to]);
  }
}

// A message that arrived before it was sent, by clocks that differ, has no flow.
void trace_of_all::connect(traced& from, traced& to) {
  if (to.event->end < from.event->begin) return;
  ++flows_;
  from.starts.push_back(flows_);
  to.arrives.push_back(flows_);
}

// Messages from one rank to another in one call and lane arrive in order.
void trace_of_all::pair_messages() {
  using pair_id = std::tuple<comm_id, std::uint64_t, int, int, int>;  // call, lane, sender, receiver
  std::map<pair_id, std::pair<std::vector<traced*>, std::vector<traced*>>> pairs;
  for (traced& t : all_) {
    const traced_event& e = *t.event;
    const comm_id call = comm_of(t).id;
    if (e.which == kind::send) pairs[{call, e.number, e.lane, t.rank, e.peer}].first.push_back(&t);
    if (e.which == kind::receive) pairs[{call, e.number, e.lane, e.peer, t.rank}].second.push_back(&t);
  }
  for (auto& [id, both] : pairs)
    for (std::size_t i = 0; i < std::min(both.first.size(), both.second.size()); ++i)
      connect(*both.first[i], *both.second[i]);
}

// ---- As packets ----

constexpr unsigned rank_at = 32;
constexpr unsigned kind_at = 24;
constexpr std::uint64_t memory_track = 0xff;

std::uint64_t trace_of_all::track(int rank, kind which, std::uint64_t lane, const char* name) {
  const std::uint64_t process = static_cast<std::uint64_t>(rank + 1) << rank_at;
  const std::uint64_t id = process | (static_cast<std::uint64_t>(which) + 1) << kind_at | lane;
  if (known_tracks_.insert(process).second) {
    tracks_.push_back(
        perfetto::packet_of_track(process, 0, perfetto::track_kind::process, fmt::format("rank {}", rank), rank + 1));
    tracks_.push_back(perfetto::packet_of_track(process | memory_track << kind_at, process, perfetto::track_kind::bytes,
                                                "scratch memory"));
  }
  if (known_tracks_.insert(id).second)
    tracks_.push_back(perfetto::packet_of_track(id, process, perfetto::track_kind::slices, name));
  return id;
}

// Slices of a track lie within each other: those that overlap need several.
std::uint64_t trace_of_all::free_lane(const traced& t) {
  auto& lanes = lanes_[{t.rank, t.event->which}];
  const auto lane = std::ranges::find_if(lanes, [&](std::uint64_t free) { return free <= t.event->begin; });
  const auto at = static_cast<std::uint64_t>(lane - lanes.begin());
  if (lane == lanes.end()) lanes.push_back(0);
  lanes[at] = t.event->end;
  return at;
}

const std::string& trace_of_all::place_of_site(const site_log& s) {
  const auto [found, fresh] = places_.try_emplace({s.object, s.offset});
  if (fresh) {
    const call_site where = resolve(s.object, s.offset);
    found->second = where.file.empty() ? where.address : where.function + where.words();
  }
  return found->second;
}

void trace_of_all::put(perfetto::track_event&& e) { packets_.push_back({e.nanoseconds, perfetto::packet(e)}); }

void trace_of_all::add(const traced& t) {
  const traced_event& e = *t.event;
  struct naming {
    const char* track;
    std::string slice;
  };
  const auto named = [&]() -> naming {
    switch (e.which) {
      case kind::call:
        return {"calls", {}};
      case kind::in_flight:
        return {"in flight", {}};
      case kind::round:
        return {"rounds", fmt::format("round {}", e.size + 1)};
      case kind::send:
        return {"sends", fmt::format("{} bytes to rank {}", e.size, e.peer)};
      case kind::receive:
        return {"receives", fmt::format("{} bytes from rank {}", e.size, e.peer)};
    }
    return {};
  }();
  const std::uint64_t on = track(t.rank, e.which, free_lane(t), named.track);
  if (t.is_call()) return add_call(t, on);
  put({.nanoseconds = e.begin, .track = on, .name = named.slice, .starts = t.starts});
  if (!t.arrives.empty())
    put({.type = event_type::instant, .nanoseconds = e.end, .track = on, .name = "arrived", .arrives = t.arrives});
  put({.type = event_type::end, .nanoseconds = e.end, .track = on});
}

void trace_of_all::add_call(const traced& t, std::uint64_t on) {
  const traced_event& e = *t.event;
  const site_log& site = site_of(t);
  const auto counter = (static_cast<std::uint64_t>(t.rank + 1) << rank_at) | memory_track << kind_at;
  const auto slice = [&](const char* name, std::uint64_t begin, std::uint64_t end) {
    put({.nanoseconds = begin, .track = on, .name = name});
    put({.type = event_type::end, .nanoseconds = end, .track = on});
  };
  count_t bytes = 0;
  for (const count_t b : row_of(t)) bytes += b;
  put({.nanoseconds = e.begin,
       .track = on,
       .name = name_of_call(site.kind, site.form),
       .starts = t.starts,
       .annotations = {{"algorithm", call_of(t).algorithm},
                       {"bytes", static_cast<std::uint64_t>(bytes)},
                       {"ranks", std::uint64_t{comm_of(t).world_ranks.size()}},
                       {"from", place_of_site(site)}}});
  if (e.size > 0) put({.type = event_type::counter, .nanoseconds = e.begin, .track = counter, .value = e.size});
  if (t.transfer != 0) {
    slice("waiting", e.begin, t.transfer);
    slice("transfer", t.transfer, e.end);
  }
  if (e.size > 0) put({.type = event_type::counter, .nanoseconds = e.end, .track = counter});
  if (!t.arrives.empty())
    put({.type = event_type::instant, .nanoseconds = e.end, .track = on, .name = "received", .arrives = t.arrives});
  put({.type = event_type::end, .nanoseconds = e.end, .track = on});
}

void trace_of_all::report_what_is_missing() {
  const std::uint64_t end =
      packets_.empty() ? 0 : std::ranges::max(packets_, {}, &timed_packet::nanoseconds).nanoseconds;
  put({.type = event_type::instant,
       .nanoseconds = end,
       .track = track(0, kind::call, 0, "calls"),
       .name = fmt::format("{} later events did not fit", left_out_)});
}

}  // namespace

void write_trace(const std::vector<rank_log>& logs, std::uint64_t most, const std::string& file) {
  const trace_of_all trace(logs, most);
  std::ostringstream text;
  trace.write(text);
  if (const auto why = detail::replace_file(file, text.view(), detail::links::replaced))
    return print_message(fmt::format("no trace is written: cannot write {}: {}", file, *why));
  print_message(fmt::format("trace of {} events written to {}: open it at ui.perfetto.dev", trace.events(), file));
  if (trace.left_out() > 0)
    print_message(fmt::format("the trace lacks {} later events: {} bytes are its limit (TAQUIN_TRACE_LIMIT)",
                              trace.left_out(), most));
}

}  // namespace taquin::interpose
