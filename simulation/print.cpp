#include "simulation/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace taquin::detail {

const char* name_of(place where) noexcept {
  switch (where) {
    case place::send:
      return "send";
    case place::recv:
      return "receive";
    case place::shared:
      return "shared";
    case place::scratch:
      break;
  }
  return "scratch";
}

namespace {

// "send[64, +16)": 16 bytes from byte 64 of the send buffer; "send[0, +16) × 3 every 64" for repeated runs.
std::string to_text(const schedule& s, const region& r) {
  const element& e = s.types[r.type];
  std::string text = fmt::format("{}[{}, +{})", name_of(r.where), r.offset, r.count * e.extent);
  if (!e.contiguous()) text += fmt::format(" as {} elements of {} in {} bytes", r.count, e.size, e.extent);
  if (r.repeat > 1) text += fmt::format(" × {} every {}", r.repeat, r.stride);
  return text;
}

// "receive 3-5 9": the blocks of these ranks, where the region is made of whole blocks.
std::string blocks_of(const schedule& s, const region& r, const local_exchange& x) {
  if (r.where == place::scratch || r.where == place::shared) return {};
  const blocks& side = r.where == place::send ? x.send : x.recv;
  const count_t extent = s.types[r.type].extent;
  std::string text;
  int first = -1;
  int last = -2;
  const auto flush = [&] {
    if (first >= 0) text += first == last ? fmt::format(" {}", first) : fmt::format(" {}-{}", first, last);
  };
  for (std::uint32_t k = 0; k < r.repeat; ++k) {
    const count_t begin = r.offset + k * r.stride;
    for (int peer = 0; peer < x.ranks; ++peer) {
      const block b = side[peer];
      if (b.count == 0 || b.offset < begin || b.offset + b.count * b.element.extent > begin + r.count * extent)
        continue;
      if (peer != last + 1) {
        flush();
        first = peer;
      }
      last = peer;
    }
  }
  flush();
  return text.empty() ? text : name_of(r.where) + text;
}

void add_message(std::string& text, const schedule& s, const message& m, const local_exchange* x) {
  const bool sends = m.direction == message_direction::send;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "  {} {:>5}  {:>10} bytes  ", sends ? "send to  " : "recv from", m.peer, s.bytes(m));
  for (std::uint32_t i = 0; i < m.regions; ++i)
    fmt::format_to(out, "{}{}", i == 0 ? "" : " + ", to_text(s, s.regions[m.first_region + i]));
  const bool single = m.regions == 1 && s.regions[m.first_region].repeat == 1;
  if (!single) text += m.how == packing::packed ? "  (packed)" : "  (one datatype)";
  for (std::uint32_t i = 0; x != nullptr && i < m.regions; ++i)
    if (const auto list = blocks_of(s, s.regions[m.first_region + i], *x); !list.empty())
      text += (text.ends_with('}') ? " {" : "  {") + list + "}";
  text += '\n';
}

// " carries 3>7 4>7"; nothing where no block is forwarded.
void add_payload(std::string& text, const payload& blocks, int from, int to) {
  if (std::ranges::all_of(blocks, [&](const auto& b) { return b == std::pair{from, to}; })) return;
  text += "      carries";
  for (const auto& [source, target] : blocks) text += fmt::format(" {}>{}", source, target);
  text += '\n';
}

void add_copy(std::string& text, const schedule& s, const copy& c) {
  fmt::format_to(std::back_inserter(text), "  {}          {:>10} bytes  {} -> {}\n",
                 c.how == merge::combine ? "merge" : "copy ", s.bytes(c.from), to_text(s, c.from), to_text(s, c.to));
}

}  // namespace

std::string to_text(const schedule& s, const local_exchange* x, std::span<const payload> payloads) {
  std::string text;
  std::uint32_t message = 0;
  std::uint32_t copy = 0;
  for (std::size_t i = 0; i < s.rounds.size(); ++i) {
    const round& r = s.rounds[i];
    fmt::format_to(std::back_inserter(text), "round {}: {} messages, {} copies", i + 1, r.messages_end - message,
                   r.copies_end - copy);
    if (r.in_flight > 0) fmt::format_to(std::back_inserter(text), ", at most {} in flight", r.in_flight);
    if (r.awaits >= 0) fmt::format_to(std::back_inserter(text), ", after {} arrivals of the node's ranks", r.awaits);
    if (r.joins) text += ", joined by the next";
    if (r.arrives) text += ", ends with an arrival";
    text += '\n';
    for (; message < r.messages_end; ++message) {
      const detail::message& m = s.messages[message];
      add_message(text, s, m, x);
      if (x == nullptr || message >= payloads.size()) continue;
      const bool sends = m.direction == message_direction::send;
      add_payload(text, payloads[message], sends ? x->rank : m.peer, sends ? m.peer : x->rank);
    }
    for (; copy < r.copies_end; ++copy) add_copy(text, s, s.copies[copy]);
  }
  if (s.scratch_bytes > 0) fmt::format_to(std::back_inserter(text), "scratch: {} bytes\n", s.scratch_bytes);
  if (s.shared_bytes > 0) fmt::format_to(std::back_inserter(text), "shared by the node: {} bytes\n", s.shared_bytes);
  return text;
}

}  // namespace taquin::detail
