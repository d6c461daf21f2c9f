#include "redistribute/block_reader.hpp"

#include <algorithm>

#include "redistribute/block_list.hpp"

namespace taquin::detail {

block_reader::block_reader(machine& m, const targets& t)
    : m_(m), t_(t), in_(static_cast<std::size_t>(m.ranks) * words_each, m.memory), places_(m.sizes.chunk, m.memory) {}

task block_reader::meet(machine& m, block_reader& r) {
  std::pmr::vector<word> out(r.in_.size(), m.memory);
  for (std::size_t peer = 0; peer < static_cast<std::size_t>(m.ranks); ++peer) {
    const auto data = reinterpret_cast<std::uint64_t>(m.map->units().at(0));
    const auto order = reinterpret_cast<std::uint64_t>(r.t_.order.data() + r.t_.out_at[peer]);
    const std::array<word, words_each> mine{static_cast<word>(data), static_cast<word>(data >> 32U),
                                            static_cast<word>(order), static_cast<word>(order >> 32U),
                                            m.net->process()};
    std::ranges::copy(mine, out.begin() + static_cast<std::ptrdiff_t>(peer * words_each));
  }
  co_await m.net->alltoall(out, r.in_, static_cast<std::uint32_t>(words_each));
}

std::uint64_t block_reader::address(int source, std::size_t first) const noexcept {
  const word* const w = in_.data() + static_cast<std::size_t>(source) * words_each + first;
  return std::uint64_t{w[1]} << 32U | w[0];
}

void block_reader::flush(int source) {
  if (used_ == 0) return;
  const word process = in_[static_cast<std::size_t>(source) * words_each + 4];
  m_.net->read(source, process, std::span(parts_).first(used_));
  used_ = 0;
}

void block_reader::read(int source, std::span<const word> list, std::span<const unit_run> into) {
  std::size_t n = 0;
  const auto add = [&](std::uint64_t at, void* to, std::size_t bytes) {
    if (used_ == batch) flush(source);
    parts_[used_++] = {at, to, bytes};
  };
  const std::uint64_t order = address(source, 2);
  block_list::read(
      list, 0,
      [&](std::uint32_t k, std::uint32_t count) {
        add(order + std::uint64_t{k} * sizeof(slot), places_.data() + n, count * sizeof(slot));
        n += count;
      },
      [](std::size_t) {});
  flush(source);

  store& units = m_.map->units();
  if (units.counts_only()) return;
  const std::uint64_t data = address(source, 0);
  const std::size_t bytes = units.unit_bytes();
  std::size_t i = 0;
  for (const unit_run& run : into)
    for (count_t done = 0; done < run.length;) {
      count_t length = 1;
      while (done + length < run.length && places_[i + static_cast<std::size_t>(length)] == places_[i] + length)
        ++length;
      add(data + std::uint64_t{places_[i]} * bytes, units.at(run.at + done), static_cast<std::size_t>(length) * bytes);
      done += length;
      i += static_cast<std::size_t>(length);
    }
  flush(source);
}

}  // namespace taquin::detail
