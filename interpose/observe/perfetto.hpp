// Perfetto's trace format: packets of protocol buffers (perfetto.dev, protos/perfetto/trace; the fields used are in
// tests/interpose/observe/perfetto.proto). A track has slices that lie within each other, or the values of a counter.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "interpose/observe/protobuf.hpp"

namespace taquin::interpose::perfetto {

using flow_ids = std::vector<std::uint64_t>;

/// A text or a number, which can be summed, that stands beside a slice.
struct annotation {
  const char* name;
  std::variant<std::string, std::uint64_t> value;
};

enum class event_type : std::uint8_t { begin = 1, end = 2, instant = 3, counter = 4 };

struct track_event {
  event_type type = event_type::begin;
  std::uint64_t nanoseconds = 0;
  std::uint64_t track = 0;
  std::string name{};
  std::uint64_t value = 0;  ///< of a counter
  flow_ids starts{};        ///< flows that go out from here
  flow_ids arrives{};       ///< and those that end here
  std::vector<annotation> annotations{};
};
/// One packet of the file.
std::string packet(const track_event& e);

enum class track_kind : std::uint8_t { process, slices, bytes };
std::string packet_of_track(std::uint64_t track, std::uint64_t parent, track_kind kind, const std::string& name,
                            int process = 0);

}  // namespace taquin::interpose::perfetto
