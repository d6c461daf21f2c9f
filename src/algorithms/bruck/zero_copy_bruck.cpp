// zero_copy_bruck: log rounds; with datatypes, as blocks of 1 KiB and more are sent, without any local copy.
//
// Source:  Träff, Rougier, Hunold, §3.3, for any radix r.
// Rounds:  ⌈log_r p⌉, of up to r − 1 messages each way.
// Bytes:   as basic_bruck.
// Memory:  p blocks of intermediate buffer; packed, as small blocks are: what one round sends and receives instead.
// Limits:  blocks of one size, separate buffers, not alltoallw.
// Wins:    small blocks when packed; with datatypes, blocks so large that a copy costs more than a structured type.
//
// A block is received at the place from which it is sent next: in the receive buffer if its number of remaining digits
// is even, in the intermediate buffer if it is odd. So a block that leaves and one that arrives in the same round never
// share a place. It is first sent from the send buffer. Packed messages are gathered before and scattered after the
// round, so that all blocks can wait in the receive buffer.
#include "algorithms/bruck/zero_copy_bruck.hpp"

#include <algorithm>
#include <cstdint>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace bruck {

int higher_digits(int radix, count_t weight, int j) noexcept {
  // 32 bits, because divisions cost most of the time of making a schedule.
  const auto base = static_cast<std::uint32_t>(radix);
  int digits = 0;
  std::uint32_t rest = weight > j ? 0 : static_cast<std::uint32_t>(j) / static_cast<std::uint32_t>(weight) / base;
  for (; rest > 0; rest /= base)
    if (rest % base != 0) ++digits;
  return digits;
}

count_t weight_before(int radix, count_t weight, int j) noexcept {
  for (weight /= radix; weight > 0; weight /= radix)
    if (j / weight % radix != 0) return weight;
  return 0;
}

schedule_size zero_copy_size(const figures& f, bruck_layout layout) noexcept {
  const std::size_t regions =
      layout == bruck_layout::packed ? most_regions(layout, f, 2) : f.elements;  // alternation is irregular
  return {.types = 3, .regions = 2 * regions, .messages = 2 * f.messages, .copies = 1, .rounds = f.rounds + 1};
}

std::size_t zero_copy_memory(const shape& s, const figures& f, bruck_layout layout,
                             std::size_t scratch_blocks) noexcept {
  const bool packed = layout == bruck_layout::packed;
  return executor::footprint(zero_copy_size(f, layout), scratch_blocks * s.max_block_bytes,
                             packed ? 2 * f.round_elements * s.max_block_bytes : 0, packed ? 0 : f.message_elements) +
         region_list::bytes(f.message_elements);
}

namespace {

// The elements of a message in groups, each in one buffer on either side: elements that leave the send buffer, then the
// others; where places alternate, in each of these first those with an even number of remaining digits.
template <class F>
void for_each_grouped(int ranks, int radix, count_t weight, count_t digit, bool alternating, F f) {
  // All elements of a row have the same higher digits.
  const auto in_turn = [&](int parity, count_t j) {
    return alternating ? higher_digits(radix, weight, static_cast<int>(j)) % 2 == parity : parity == 0;
  };
  for (const int parity : {0, 1})
    for (count_t j = digit * weight; j < ranks; j += radix * weight)  // the fresh ones: multiples of the weight
      if (in_turn(parity, j)) f(static_cast<int>(j));
  for (const int parity : {0, 1})
    for (count_t first = digit * weight; first < ranks; first += radix * weight)
      if (in_turn(parity, first))
        for (count_t j = first + 1; j < first + weight && j < ranks; ++j) f(static_cast<int>(j));
}

}  // namespace

schedule zero_copy_schedule(const local_exchange& x, const shape& shape, int radix, bruck_layout layout,
                            const placement& places, std::size_t scratch_blocks, std::pmr::memory_resource* memory) {
  const int p = x.ranks;
  const figures f = count(p, radix);
  schedule s(memory, zero_copy_size(f, layout));
  s.synchronizes = shape.max_block_bytes > 0;
  s.add_types(x);
  const std::uint32_t intermediate = add_intermediate_type(s, x);
  s.scratch_bytes = scratch_blocks * shape.max_block_bytes;
  const auto place = [&](location at) {
    return at < p ? s.recv_block(x, (x.rank + at) % p)
                  : intermediate_block(s, intermediate, static_cast<count_t>(shape.max_block_bytes), at - p);
  };
  const auto source = [&](count_t weight, int j) {
    const count_t before = weight_before(radix, weight, j);
    return before == 0 ? s.send_block(x, (x.rank - j + p) % p) : place(places.after(before, j));
  };
  const bool alternating = layout != bruck_layout::packed;
  region_list list(s, layout, f.message_elements, memory);
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));
  for_each_weight(p, radix, [&](count_t weight) {
    for_each_digit(p, radix, weight, [&](count_t digit) {
      list.clear();
      for_each_grouped(p, radix, weight, digit, alternating, [&](int j) { list.add(place(places.after(weight, j))); });
      const auto& regions = list.finish();
      s.recv(static_cast<int>((x.rank + digit * weight) % p), regions.data(), regions.size(), packing_of(layout));
    });
    for_each_digit(p, radix, weight, [&](count_t digit) {
      list.clear();
      for_each_grouped(p, radix, weight, digit, alternating, [&](int j) { list.add(source(weight, j)); });
      const auto& regions = list.finish();
      s.send(static_cast<int>((x.rank - digit * weight + p) % p), regions.data(), regions.size(), packing_of(layout));
    });
    s.end_round();
  });
  s.end_round();
  return s;
}

}  // namespace bruck

namespace {

using namespace bruck;

class alternating final : public placement {
 public:
  alternating(int ranks, int radix, bool packed) noexcept : ranks_(ranks), radix_(radix), packed_(packed) {}
  [[nodiscard]] location after(count_t weight, int j) const override {
    return packed_ || higher_digits(radix_, weight, j) % 2 == 0 ? j : ranks_ + j;
  }

 private:
  int ranks_;
  int radix_;
  bool packed_;
};

// Measured (docs/internals/bruck.md): below 1 KiB taquin's loops are faster than a datatype, above a datatype saves two
// copies.
constexpr std::uint64_t least_structured_bytes = 1024;

bruck_layout layout_of(const options& o, const shape& s) noexcept {
  if (o.bruck.layout != bruck_layout::automatic) return o.bruck.layout;
  return s.max_block_bytes < least_structured_bytes ? bruck_layout::packed : bruck_layout::blocks;
}

// With one round no block waits.
std::size_t scratch_blocks(int ranks, int radix, bruck_layout layout) noexcept {
  return layout == bruck_layout::packed || radix >= ranks ? 0 : as_size(ranks);
}

std::size_t memory_of_zero_copy_bruck(const shape& s, const options& o) noexcept {
  const int radix = radix_of(o, s.ranks);
  const bruck_layout layout = layout_of(o, s);
  return zero_copy_memory(s, count(s.ranks, radix), layout, scratch_blocks(s.ranks, radix, layout));
}

schedule build_zero_copy_bruck(const local_exchange& x, const shape& shape, const options& o,
                               std::pmr::memory_resource* memory) {
  const int radix = radix_of(o, x.ranks);
  const bruck_layout layout = layout_of(o, shape);
  const alternating places(x.ranks, radix, layout == bruck_layout::packed);
  return zero_copy_schedule(x, shape, radix, layout, places, scratch_blocks(x.ranks, radix, layout), memory);
}

}  // namespace

const algorithm zero_copy_bruck = bruck::regular<0>({
    .name = "zero_copy_bruck",
    .summary = "log rounds; blocks of 1 KiB and more without any local copy, shorter ones packed",
    .source = "Träff et al. §3.3",
    .memory = memory_of_zero_copy_bruck,
    .build = build_zero_copy_bruck,
});

}  // namespace taquin::detail
