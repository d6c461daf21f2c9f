#include "schedule/print.hpp"

#include <fmt/format.h>

#include <iterator>

namespace taquin::detail {

namespace {

const char* name_of(place where) {
  switch (where) {
    case place::send:
      return "send";
    case place::recv:
      return "receive";
    case place::scratch:
      break;
  }
  return "scratch";
}

// "send[64, +16)": 16 bytes from byte 64 of the send buffer; "send[0, +16) × 3 every 64" for repeated runs.
std::string to_text(const schedule& s, const region& r) {
  const element& e = s.types[r.type];
  std::string text = fmt::format("{}[{}, +{})", name_of(r.where), r.offset, r.count * e.extent);
  if (!e.contiguous()) text += fmt::format(" as {} elements of {} in {} bytes", r.count, e.size, e.extent);
  if (r.repeat > 1) text += fmt::format(" × {} every {}", r.repeat, r.stride);
  return text;
}

void add_message(std::string& text, const schedule& s, const message& m) {
  const bool sends = m.way == direction::send;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "  {} {:>5}  {:>10} bytes  ", sends ? "send to  " : "recv from", m.peer, s.bytes(m));
  for (std::uint32_t i = 0; i < m.regions; ++i)
    fmt::format_to(out, "{}{}", i == 0 ? "" : " + ", to_text(s, s.regions[m.first_region + i]));
  const bool single = m.regions == 1 && s.regions[m.first_region].repeat == 1;
  if (!single) text += m.how == packing::packed ? "  (packed)" : "  (one datatype)";
  text += '\n';
}

void add_copy(std::string& text, const schedule& s, const copy& c) {
  fmt::format_to(std::back_inserter(text), "  {}          {:>10} bytes  {} -> {}\n",
                 c.how == merge::combine ? "merge" : "copy ", s.bytes(c.from), to_text(s, c.from), to_text(s, c.to));
}

}  // namespace

std::string to_text(const schedule& s) {
  std::string text;
  std::uint32_t message = 0;
  std::uint32_t copy = 0;
  for (std::size_t i = 0; i < s.rounds.size(); ++i) {
    const round& r = s.rounds[i];
    fmt::format_to(std::back_inserter(text), "round {}: {} messages, {} copies", i + 1, r.messages_end - message,
                   r.copies_end - copy);
    if (r.in_flight > 0) fmt::format_to(std::back_inserter(text), ", at most {} in flight", r.in_flight);
    text += '\n';
    for (; message < r.messages_end; ++message) add_message(text, s, s.messages[message]);
    for (; copy < r.copies_end; ++copy) add_copy(text, s, s.copies[copy]);
  }
  if (s.scratch_bytes > 0) fmt::format_to(std::back_inserter(text), "scratch: {} bytes\n", s.scratch_bytes);
  return text;
}

}  // namespace taquin::detail
