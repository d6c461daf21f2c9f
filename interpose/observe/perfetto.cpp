#include "interpose/observe/perfetto.hpp"

namespace taquin::interpose::perfetto {

namespace {

// Field numbers, as Perfetto has published them.
namespace field {
constexpr std::uint32_t packet = 1;
namespace of_packet {
constexpr std::uint32_t timestamp = 8;
constexpr std::uint32_t sequence = 10;
constexpr std::uint32_t event = 11;
constexpr std::uint32_t track = 60;
}  // namespace of_packet
namespace of_event {
constexpr std::uint32_t annotations = 4;
constexpr std::uint32_t type = 9;
constexpr std::uint32_t track = 11;
constexpr std::uint32_t name = 23;
constexpr std::uint32_t counter = 30;
constexpr std::uint32_t flows = 47;
constexpr std::uint32_t ending_flows = 48;
}  // namespace of_event
namespace of_note {
constexpr std::uint32_t number = 3;
constexpr std::uint32_t text = 6;
constexpr std::uint32_t name = 10;
}  // namespace of_note
namespace of_track {
constexpr std::uint32_t uuid = 1;
constexpr std::uint32_t name = 2;
constexpr std::uint32_t process = 3;
constexpr std::uint32_t parent = 5;
constexpr std::uint32_t counter = 8;
}  // namespace of_track
namespace of_process {
constexpr std::uint32_t pid = 1;
constexpr std::uint32_t name = 6;
}  // namespace of_process
constexpr std::uint32_t counter_unit = 3;
}  // namespace field
constexpr std::uint64_t bytes_unit = 3;

std::string in_file(protobuf&& packet) {
  packet.number(field::of_packet::sequence, 1);
  protobuf file;
  file.message(field::packet, packet);
  return file.bytes();
}

}  // namespace

std::string packet(const track_event& e) {
  protobuf event;
  event.number(field::of_event::type, static_cast<std::uint64_t>(e.type));
  event.number(field::of_event::track, e.track);
  if (e.type == event_type::counter) event.number(field::of_event::counter, e.value);
  if (!e.name.empty()) event.text(field::of_event::name, e.name);
  for (const annotation& n : e.annotations) {
    protobuf one;
    one.text(field::of_note::name, n.name);
    if (const auto* const number = std::get_if<std::uint64_t>(&n.value))
      one.number(field::of_note::number, *number);
    else
      one.text(field::of_note::text, std::get<std::string>(n.value));
    event.message(field::of_event::annotations, one);
  }
  for (const std::uint64_t id : e.starts) event.fixed(field::of_event::flows, id);
  for (const std::uint64_t id : e.arrives) event.fixed(field::of_event::ending_flows, id);
  protobuf p;
  p.number(field::of_packet::timestamp, e.nanoseconds);
  p.message(field::of_packet::event, event);
  return in_file(std::move(p));
}

std::string packet_of_track(std::uint64_t track, std::uint64_t parent, track_kind kind, const std::string& name,
                            int process) {
  protobuf t;
  t.number(field::of_track::uuid, track);
  if (parent != 0) t.number(field::of_track::parent, parent);
  t.text(field::of_track::name, name);
  if (kind == track_kind::process) {
    protobuf p;
    p.number(field::of_process::pid, static_cast<std::uint64_t>(process));
    p.text(field::of_process::name, name);
    t.message(field::of_track::process, p);
  } else if (kind == track_kind::bytes) {
    protobuf c;
    c.number(field::counter_unit, bytes_unit);
    t.message(field::of_track::counter, c);
  }
  protobuf p;
  p.message(field::of_packet::track, t);
  return in_file(std::move(p));
}

}  // namespace taquin::interpose::perfetto
