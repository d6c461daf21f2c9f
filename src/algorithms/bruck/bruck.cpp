#include "algorithms/bruck/bruck.hpp"

#include <algorithm>
#include <cstdint>

#include "base/sizes.hpp"
#include "datatypes/type_map.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail::bruck {

// With more ranks than cores, or on a network of high latency, a round costs more than a message. Beyond 16 the many
// messages of a round cost more than the rounds that they save.
int radix_of(const options& o, int ranks) noexcept {
  constexpr int most = 16;
  int radix = 2;
  if (o.bruck.radix) {
    radix = *o.bruck.radix;
  } else {
    while (radix < most && radix * radix < ranks) radix *= 2;
  }
  return std::clamp(radix, 2, std::max(2, ranks));
}

// Each blocking call runs this, so it is fast: no loop over digits, 32-bit divisions, and none where there is only one
// period.
figures count(int ranks, int radix) noexcept {
  figures f;
  const auto p = static_cast<std::uint32_t>(ranks);
  for_each_weight(ranks, radix, [&](count_t weight) {
    const count_t period = radix * weight;
    const bool several = period <= ranks;
    const count_t whole = several ? p / static_cast<std::uint32_t>(period) * weight : 0;  // of each digit
    const count_t rest = several ? p % static_cast<std::uint32_t>(period) : ranks;
    const count_t staying = whole + std::min(rest, weight);  // digit 0
    const count_t longest = whole + std::clamp<count_t>(rest - weight, 0, weight);
    ++f.rounds;
    f.messages += as_size(several ? radix - 1 : (ranks - 1) / weight);
    f.elements += as_size(ranks - staying);
    f.round_elements = std::max(f.round_elements, as_size(ranks - staying));
    f.message_elements = std::max(f.message_elements, as_size(longest));
  });
  return f;
}

// In alltoallw each peer may have a type signature of its own; a block of one signature cannot lie in a place of
// another.
bool serves(const shape& s) noexcept {
  return !s.inter && !s.in_place && s.uniform && s.kind != exchange::form::alltoallw;
}

// A sequence of equal rows is one region, at most three more where it wraps around inside a row, one more where its
// last row is short.
std::size_t most_regions(bruck_layout layout, const figures& f, std::size_t rows) noexcept {
  const bool joined = layout == bruck_layout::regular || layout == bruck_layout::packed;
  return joined ? std::min(f.elements, rows * 5 * f.messages) : f.elements;
}

std::uint32_t add_intermediate_type(schedule& s, const local_exchange& x) {
  const element& e = x.recv.element;
  if (e.contiguous()) return s.add_type(e);
  // Without MPI there are no types to ask.
  const bool queries = e.map == nullptr && e.type != MPI_DATATYPE_NULL && mpi::running();
  const type_map* const map = queries ? type_map::of(e.type) : e.map;
  if (map == nullptr || map->signature_count() == 0) return s.add_type(element::bytes(1));
  const count_t size = e.size / map->signature_count();
  return s.add_type({map->signature(), size, size, 0, size});
}

region intermediate_block(const schedule& s, std::uint32_t type, count_t block_bytes, count_t slot) {
  return {slot * block_bytes, block_bytes / std::max<count_t>(s.types[type].size, 1), 0, 1, type, place::scratch};
}

namespace {

bool identical(const region& a, const region& b) {
  return a.where == b.where && a.type == b.type && a.count == b.count;
}

// True when `b` continues the equally spaced runs of `a`.
bool continues(const region& a, const region& b) {
  return identical(a, b) && (a.repeat == 1 || b.offset == a.offset + a.stride * a.repeat);
}

void extend(region& a, const region& b) {
  if (a.repeat == 1) a.stride = b.offset - a.offset;
  ++a.repeat;
}

bool follows(const schedule& s, const region& a, const region& b) {
  return a.repeat == 1 && a.where == b.where && a.type == b.type &&
         b.offset == a.offset + a.count * s.types[a.type].extent;
}

}  // namespace

void add_joined_copy(schedule& s, std::size_t first, const region& from, const region& to) {
  if (s.copies.size() > first) {
    copy& last = s.copies.back();
    if (follows(s, last.from, from) && follows(s, last.to, to)) {
      last.from.count += from.count;
      last.to.count += to.count;
      return;
    }
    if (continues(last.from, from) && continues(last.to, to)) {
      extend(last.from, from);
      extend(last.to, to);
      return;
    }
  }
  s.add_copy(from, to);
}

void region_list::clear() {
  list_.clear();
  open_ = false;
}

void region_list::add(const region& r) {
  const bool rows = layout_ != bruck_layout::indexed && layout_ != bruck_layout::elements;
  if (open_ && rows && follows(schedule_, row_, r)) {
    row_.count += r.count;
    return;
  }
  flush();
  row_ = r;
  open_ = true;
}

const std::pmr::vector<region>& region_list::finish() {
  flush();
  return list_;
}

void region_list::flush() {
  if (!open_) return;
  open_ = false;
  const bool vectors = layout_ == bruck_layout::regular || layout_ == bruck_layout::packed;
  if (vectors && !list_.empty() && continues(list_.back(), row_)) {
    extend(list_.back(), row_);
  } else {
    list_.push_back(row_);
  }
}

fixed_places::fixed_places(int p, const options& o) noexcept
    : ranks(p),
      radix(radix_of(o, p)),
      layout(o.bruck.layout == bruck_layout::automatic ? bruck_layout::packed : o.bruck.layout),
      sent(count(p, radix)) {}

schedule_size fixed_places::size() const noexcept {
  const std::size_t regions = most_regions(layout, sent, 1);
  return {.types = 3,
          .regions = regions + (packed() ? regions : sent.messages),
          .messages = 2 * sent.messages,
          .copies = packed() ? 0 : regions,
          .rounds = (packed() ? 1 : 2) * sent.rounds};
}

std::size_t fixed_places::memory(const schedule_size& all, std::size_t scratch,
                                 std::size_t block_bytes) const noexcept {
  return executor::footprint(all, scratch * block_bytes, packed() ? 2 * sent.round_elements * block_bytes : 0,
                             packed() ? 0 : sent.message_elements) +
         region_list::bytes(sent.message_elements);
}

// A block is sent from the place where another one arrives in the same round. Packed messages are gathered before and
// scattered after; the others arrive in scratch and are copied when the round is over.
void fixed_places::add_rounds(schedule& s, const local_exchange& x, std::uint32_t intermediate, count_t block_bytes,
                              int origin, int direction) const {
  const auto place = [&](int j) { return s.recv_block(x, (origin + j) % ranks); };
  const auto peer = [&](count_t distance) { return static_cast<int>((x.rank + distance + ranks) % ranks); };
  region_list list(s, layout, sent.message_elements, s.regions.get_allocator().resource());
  for_each_weight(ranks, radix, [&](count_t weight) {
    const auto collect = [&](count_t digit) -> const std::pmr::vector<region>& {
      list.clear();
      for_each_element(ranks, radix, weight, digit, [&](int j) { list.add(place(j)); });
      return list.finish();
    };
    count_t slot = 0;
    for_each_digit(ranks, radix, weight, [&](count_t digit) {
      const int from = peer(-direction * digit * weight);
      if (packed()) {
        const auto& regions = collect(digit);
        s.recv(from, regions.data(), regions.size(), packing::packed);
        return;
      }
      count_t blocks = 0;
      for_each_element(ranks, radix, weight, digit, [&](int) { ++blocks; });
      region all = intermediate_block(s, intermediate, block_bytes, slot);
      all.count *= blocks;
      s.recv(from, all);
      slot += blocks;
    });
    for_each_digit(ranks, radix, weight, [&](count_t digit) {
      const auto& regions = collect(digit);
      s.send(peer(direction * digit * weight), regions.data(), regions.size(), packing_of(layout));
    });
    s.end_round();
    if (packed()) return;
    slot = 0;
    const std::size_t first = s.copies.size();
    for_each_digit(ranks, radix, weight, [&](count_t digit) {
      for_each_element(ranks, radix, weight, digit, [&](int j) {
        add_joined_copy(s, first, intermediate_block(s, intermediate, block_bytes, slot++), place(j));
      });
    });
    s.end_round();
  });
}

// Gathering and scattering a message's blocks, by taquin or by the MPI library, copies each twice.
seconds cost(const shape& s, const options& o, const machine_model& m, double passes) noexcept {
  const terms t(s, m);
  const figures f = count(s.ranks, radix_of(o, s.ranks));
  if (f.rounds == 0) return t.copies(1, t.mean_block());
  const auto rounds = static_cast<double>(f.rounds);
  const double messages = static_cast<double>(f.messages) / rounds;
  const double bytes = static_cast<double>(f.elements) / rounds * t.largest_block();
  return t.rounds(rounds, messages, bytes, bytes / messages) +
         t.packs(2 * static_cast<double>(f.elements), 2 * rounds * bytes) +
         t.copies(passes * t.ranks(), passes * t.busiest());
}

}  // namespace taquin::detail::bruck
