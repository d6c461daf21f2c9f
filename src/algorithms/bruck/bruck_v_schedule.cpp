#include "algorithms/bruck/bruck_v_schedule.hpp"

#include <algorithm>

#include "algorithms/direct/spread_out.hpp"
#include "base/sizes.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail::bruck {

namespace {

// Of each element: where it waits between rounds, and its size.
struct waiting {
  explicit waiting(std::size_t ranks, std::pmr::memory_resource* memory) : now(memory), next(memory), sizes(memory) {
    array_list::take(*this, ranks);
  }
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&waiting::now, ranks);
    each(&waiting::next, ranks);
    each(&waiting::sizes, ranks);
  }
  std::pmr::vector<count_t> now;
  std::pmr::vector<count_t> next;
  std::pmr::vector<size_field> sizes;
};

}  // namespace

schedule_size bruck_v_schedule_size(const shape& s, const route& r) noexcept {
  const figures f = count(r.ranks, r.radix);
  schedule_size size = direct_size(s);
  if (s.max_block_bytes <= static_cast<std::uint64_t>(r.threshold)) size.regions = size.messages = 0;
  size.types += 1;
  size.regions += 2 * f.elements;
  size.messages += 2 * f.messages;
  size.copies += 1;
  size.rounds += f.rounds;
  return size;
}

std::size_t bruck_v_schedule_memory(const shape& s, const route& r) noexcept {
  const figures f = count(r.ranks, r.radix);
  const std::size_t block = std::min(as_size(r.threshold), as_size(s.max_block_bytes));
  const std::size_t passing = f.elements - as_size(s.ranks - 1);  // the others stay
  const std::size_t tables =
      size_history::bytes(r) + array_list::bytes<waiting>(as_size(s.ranks)) + region_list::bytes(f.message_elements);
  return executor::footprint(bruck_v_schedule_size(s, r), passing * block, 2 * f.round_elements * block) + tables;
}

schedule bruck_v_schedule(const local_exchange& x, const shape& shape, const options& o, const route& r,
                          const std::pmr::vector<size_field>& received, std::pmr::memory_resource* memory) {
  const int p = r.ranks;
  schedule s(memory, bruck_v_schedule_size(shape, r));
  s.synchronizes = shape.min_block_bytes > 0 && shape.max_block_bytes <= as_size(r.threshold);
  s.add_types(x);
  const std::uint32_t bytes_type = s.add_type(element::bytes(1));
  waiting places(as_size(p), memory);
  auto& sizes = places.sizes;
  for (int t = 0; t < p; ++t) {
    const count_t bytes = x.send[(x.rank + t) % p].bytes();
    sizes[as_size(t)] = bytes > r.threshold ? goes_directly : static_cast<size_field>(bytes);
  }
  region_list list(s, bruck_layout::packed, count(p, r.radix).message_elements, memory);
  std::size_t next = 0;
  count_t scratch = 0;
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));
  for_each_weight(p, r.radix, [&](count_t weight) {
    const std::size_t first = next;
    for_each_digit(p, r.radix, weight, [&](count_t digit) {
      list.clear();
      for_each_element(p, r.radix, weight, digit, [&](int t) {
        const size_field size = received[next++];
        if (size == goes_directly || size == 0) return;
        if (r.next_weight(weight, t) == 0) {
          list.add(s.recv_block(x, (x.rank - t + p) % p));
          return;
        }
        places.next[as_size(t)] = scratch;
        list.add({scratch, size, 0, 1, bytes_type, place::scratch});
        scratch += size;
      });
      const auto& regions = list.finish();
      s.recv(static_cast<int>((x.rank - digit * weight + p) % p), regions.data(), regions.size(), packing::packed);
    });
    for_each_digit(p, r.radix, weight, [&](count_t digit) {
      list.clear();
      for_each_element(p, r.radix, weight, digit, [&](int t) {
        const auto k = as_size(t);
        if (sizes[k] == goes_directly || sizes[k] == 0) return;
        list.add(t % weight == 0 ? s.send_block(x, (x.rank + t) % p)
                                 : region{places.now[k], sizes[k], 0, 1, bytes_type, place::scratch});
      });
      const auto& regions = list.finish();
      s.send(static_cast<int>((x.rank + digit * weight) % p), regions.data(), regions.size(), packing::packed);
    });
    s.end_round();
    next = first;
    for_each_digit(p, r.radix, weight, [&](count_t digit) {
      for_each_element(p, r.radix, weight, digit, [&](int t) {
        const auto k = as_size(t);
        sizes[k] = received[next++];
        places.now[k] = places.next[k];
      });
    });
  });
  add_direct_round(s, x, o, r.threshold);
  s.scratch_bytes = as_size(scratch);
  return s;
}

}  // namespace taquin::detail::bruck
