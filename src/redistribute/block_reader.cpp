#include "redistribute/block_reader.hpp"

#include <cstring>

#include "redistribute/block_list.hpp"

namespace taquin::detail {

block_reader::block_reader(machine& m, const targets& t)
    : m_(m), t_(t), out_(m.memory), in_(m.memory), places_(m.memory) {
  array_list::take(*this, m.tables(t));
}

task block_reader::meet(machine& m, block_reader& r) {
  store& units = m.map->units();
  owner mine;
  mine.data = reinterpret_cast<std::uint64_t>(units.at(0));
  if (const auto place = find_shared(units.at(0), m.blocks() * units.unit_bytes())) mine.shared = *place;
  mine.shared.key.process = static_cast<std::int32_t>(m.net->process());
  for (std::size_t peer = 0; peer < static_cast<std::size_t>(m.ranks); ++peer) {
    mine.order = reinterpret_cast<std::uint64_t>(r.t_.order.data() + r.t_.out_at[peer]);
    std::memcpy(r.out_.data() + peer * words_each, &mine, sizeof mine);
  }
  co_await m.net->alltoall(r.out_, r.in_, static_cast<std::uint32_t>(words_each));
}

block_reader::owner block_reader::of(int source) const noexcept {
  owner o;
  std::memcpy(static_cast<void*>(&o), in_.data() + static_cast<std::size_t>(source) * words_each, sizeof o);
  return o;
}

void block_reader::flush(int source, const owner& from) {
  if (used_ > 0) m_.net->read(source, static_cast<word>(from.shared.key.process), std::span(parts_).first(used_));
  used_ = 0;
}

void block_reader::read(int source, std::span<const word> list, std::span<const unit_run> into) {
  const owner from = of(source);
  const auto add = [&](std::uint64_t at, void* to, std::size_t bytes) {
    if (used_ == batch) flush(source, from);
    parts_[used_++] = {at, to, bytes};
  };
  std::size_t n = 0;
  block_list::read(
      list, 0,
      [&](std::uint32_t k, std::uint32_t count) {
        add(from.order + std::uint64_t{k} * sizeof(slot), places_.data() + n, count * sizeof(slot));
        n += count;
      },
      [](std::size_t) {});
  flush(source, from);

  store& units = m_.map->units();
  if (units.counts_only()) return;
  const std::size_t bytes = units.unit_bytes();
  const std::byte* const seen = from.shared.key.file >= 0 ? view_shared(from.shared, bytes) : nullptr;
  const slot* place = places_.data();
  for (const unit_run& run : into)
    for (count_t done = 0; done < run.length;) {
      count_t length = 1;
      while (done + length < run.length && place[length] == place[0] + length) ++length;
      std::byte* const to = units.at(run.at + done);
      const std::size_t offset = std::size_t{place[0]} * bytes;
      if (seen != nullptr) {
        std::memcpy(to, seen + offset, static_cast<std::size_t>(length) * bytes);
      } else {
        add(from.data + offset, to, static_cast<std::size_t>(length) * bytes);
      }
      done += length;
      place += length;
    }
  flush(source, from);
}

}  // namespace taquin::detail
