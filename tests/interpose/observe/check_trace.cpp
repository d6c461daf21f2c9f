// check_trace FILE RANKS [NAME=NUMBER]...: reads a trace with protobuf and prints its errors: slices that do not nest,
// times that go back, flows without an end, tracks without a name, or another NUMBER than given of
//   calls; waiting: those with waiting and transfer; memory: those that took some; flows: between them
//   rounds; messages: those that were sent and have arrived
//   events: all of them, those that did not fit included; most: bytes, at most
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "perfetto.pb.h"

namespace {

using perfetto::protos::Trace;
using perfetto::protos::TrackEvent;

struct slice {
  std::string name;
  std::uint64_t begin;
};

struct track {
  std::string name;
  std::uint64_t process = 0;
  bool counter = false;
  std::vector<slice> open{};
  std::int64_t value = 0;
  std::uint64_t waited_until = 0;
};

struct flow_end {
  std::uint64_t time;
  std::uint64_t process;
  bool message;
};

class checker {
 public:
  void poll_at(const Trace& trace) {
    for (const auto& p : trace.packet()) {
      expect(p.trusted_packet_sequence_id() == 1, "a packet of no sequence");
      if (p.has_track_descriptor()) describe(p.track_descriptor());
      if (!p.has_track_event()) continue;
      expect(p.timestamp() >= last_, "times go back");
      last_ = p.timestamp();
      event(p.track_event(), p.timestamp());
    }
    for (const auto& [id, t] : tracks_) {
      expect(t.open.empty(), "a slice without an end");
      expect(t.value == 0, "memory that is never given back");
    }
    expect(starts_.size() == ends_.size(), "flows without an end");
    for (const auto& [id, from] : starts_) {
      const auto to = ends_.find(id);
      if (!expect(to != ends_.end(), "a flow without an end")) continue;
      expect(from.time <= to->second.time, "a flow that ends before it begins");
      expect(from.process != to->second.process, "a flow within one rank");
      expect(from.message == to->second.message, "a flow from a call to a message");
      ++counts[from.message ? "messages" : "flows"];
    }
  }

  bool expect(bool right, const char* what) {
    if (!right && faults++ < 20) std::printf("wrong: %s\n", what);
    return right;
  }

  std::map<std::string, std::uint64_t> counts{{"calls", 0}, {"waiting", 0},  {"rounds", 0}, {"memory", 0},
                                              {"flows", 0}, {"messages", 0}, {"events", 0}};
  std::set<std::uint64_t> processes;
  int faults = 0;

 private:
  void describe(const perfetto::protos::TrackDescriptor& d) {
    expect(!tracks_.contains(d.uuid()), "a track that is described twice");
    track t{d.name(), d.parent_uuid(), d.has_counter()};
    if (d.has_process()) {
      expect(d.process().pid() > 0, "a process without a number");
      processes.insert(d.uuid());
    } else {
      expect(processes.contains(d.parent_uuid()), "a track of no rank");
    }
    tracks_[d.uuid()] = t;
  }

  void event(const TrackEvent& e, std::uint64_t time) {
    const auto found = tracks_.find(e.track_uuid());
    if (!expect(found != tracks_.end(), "an event on a track that is not described")) return;
    track& t = found->second;
    expect((e.type() == TrackEvent::TYPE_COUNTER) == t.counter, "a counter among slices, or the other way round");
    const bool message = t.name == "sends" || t.name == "receives";
    for (const auto id : e.flow_ids())
      expect(starts_.try_emplace(id, flow_end{time, t.process, message}).second, "a flow that begins twice");
    for (const auto id : e.terminating_flow_ids())
      expect(ends_.try_emplace(id, flow_end{time, t.process, message}).second, "a flow that ends twice");
    if (e.type() == TrackEvent::TYPE_COUNTER) t.value = e.counter_value();
    if (e.type() == TrackEvent::TYPE_COUNTER && t.value > 0) ++counts["memory"];
    if (e.type() == TrackEvent::TYPE_SLICE_BEGIN) begin(t, e, time);
    if (e.type() == TrackEvent::TYPE_SLICE_END) end(t, time);
    if (e.type() == TrackEvent::TYPE_INSTANT && e.name().find("did not fit") != std::string::npos)
      counts["events"] += std::strtoull(e.name().c_str(), nullptr, 10);
  }

  void begin(track& t, const TrackEvent& e, std::uint64_t time) {
    const bool part = e.name() == "waiting" || e.name() == "transfer";
    expect(part == (t.name == "calls" && !t.open.empty()), "a slice in the wrong place");
    expect(t.open.size() < 2, "slices within a part of a call");
    if (!part) ++counts["events"];
    if (!part && t.name == "rounds") ++counts["rounds"];
    if (!part && (t.name == "calls" || t.name == "in flight")) {
      ++counts["calls"];
      std::set<std::string> notes;
      for (const auto& n : e.debug_annotations()) {
        notes.insert(n.name());
        const bool is_number = n.name() == "bytes" || n.name() == "ranks";
        expect(n.has_uint_value() == is_number && n.has_string_value() != is_number, "a note of the wrong type");
      }
      expect(notes == std::set<std::string>{"algorithm", "bytes", "from", "ranks"}, "a call without its notes");
    }
    // Waiting comes first, transfer where it ends.
    if (e.name() == "waiting") expect(time == t.open.back().begin, "waiting that begins after its call");
    if (e.name() == "transfer") {
      expect(time == t.waited_until, "transfer that begins elsewhere than where waiting ends");
      ++counts["waiting"];
    }
    t.open.push_back({e.name(), time});
  }

  void end(track& t, std::uint64_t time) {
    if (!expect(!t.open.empty(), "an end without a beginning")) return;
    expect(t.open.back().begin <= time, "a slice that ends before it begins");
    if (t.open.back().name == "waiting") t.waited_until = time;
    t.open.pop_back();
  }

  std::map<std::uint64_t, track> tracks_;
  std::map<std::uint64_t, flow_end> starts_;
  std::map<std::uint64_t, flow_end> ends_;
  std::uint64_t last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Trace trace;
  checker c;
  if (!c.expect(trace.ParseFromString(bytes), "not a trace")) return 1;
  c.poll_at(trace);
  c.expect(c.processes.size() == std::strtoull(argv[2], nullptr, 10), "the number of ranks");
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string key = text.substr(0, text.find('='));
    const std::uint64_t wanted = std::strtoull(text.c_str() + key.size() + 1, nullptr, 10);
    c.expect(key == "most" ? bytes.size() <= wanted : c.counts.at(key) == wanted, text.c_str());
  }
  for (const auto& [key, n] : c.counts) std::printf("%s=%llu ", key.c_str(), static_cast<unsigned long long>(n));
  std::printf("bytes=%zu\n", bytes.size());
  return c.faults > 0 ? 1 : 0;
}
