#include "redistribute/block_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "redistribute/block_list.hpp"

namespace taquin::detail {

block_reader::block_reader(machine& m, targets& t) : m_(m), t_(t), in_(m.memory), places_(m.memory) {
  array_list::take(*this, m.tables());
}

task block_reader::exchange_addresses(machine& m, block_reader& r) {
  store& units = m.map->units();
  owner mine;
  mine.data = reinterpret_cast<std::uint64_t>(units.at(0));
  if (const auto place = find_shared(units.at(0), m.blocks() * units.unit_bytes())) mine.shared = *place;
  mine.shared.key.process = static_cast<std::int32_t>(m.net->process());
  std::pmr::vector<word> out(r.in_.size(), m.memory);
  for (std::size_t peer = 0; peer < as_size(m.ranks); ++peer) {
    mine.order = reinterpret_cast<std::uint64_t>(r.t_.order.data() + r.t_.out_at[peer]);
    std::memcpy(out.data() + peer * words_each, &mine, sizeof mine);
  }
  r.t_.is_read = true;
  co_await m.net->alltoall(out, r.in_, static_cast<std::uint32_t>(words_each));
}

block_reader::origin block_reader::of(int source) const noexcept {
  owner o;
  std::memcpy(static_cast<void*>(&o), in_.data() + as_size(source) * words_each, sizeof o);
  const bool shared = o.shared.known();
  return {source, static_cast<word>(o.shared.key.process), o.data, o.order,
          shared ? view_shared(o.shared, m_.map->units().unit_bytes()) : nullptr};
}

bool block_reader::may_read(int source) const {
  const origin from = of(source);
  if (m_.map->units().counts_only()) return true;
  std::byte one{};
  return m_.net->may_read(source, from.process, {from.order, &one, 1}) &&
         (from.seen != nullptr || m_.net->may_read(source, from.process, {from.data, &one, 1}));
}

void block_reader::flush() {
  if (used_ > 0) m_.net->read(from_.rank, from_.process, std::span(parts_).first(used_));
  used_ = 0;
}

std::uint32_t block_reader::find(std::uint32_t k, std::uint32_t count, std::uint32_t& at) {
  if (k < first_ || k >= first_ + found_) {
    const auto rank = as_size(from_.rank);
    first_ = k;
    found_ = std::min(together, t_.in_at[rank + 1] - t_.in_at[rank] - k);
    const remote_part part{from_.order + std::uint64_t{k} * sizeof(slot), reinterpret_cast<std::byte*>(places_.data()),
                           found_ * sizeof(slot)};
    m_.net->read(from_.rank, from_.process, std::span(&part, 1));
  }
  at = k - first_;
  return std::min(count, found_ - at);
}

void block_reader::read(int source, std::span<const word> list, std::span<const unit_run> into) {
  if (m_.map->units().counts_only()) return;
  if (from_.rank != source) found_ = 0;
  from_ = of(source);
  const unit_run* run = into.data();
  count_t done = 0;
  block_list::read(
      list, 0,
      [&](std::uint32_t k, std::uint32_t count) {
        while (count > 0) {
          if (done == run->length) ++run, done = 0;
          std::uint32_t at = 0;
          const std::uint32_t most =
              find(k, static_cast<std::uint32_t>(std::min<count_t>(count, run->length - done)), at);
          std::uint32_t length = 1;
          while (length < most && places_[at + length] == places_[at] + length) ++length;
          copy(places_[at], run->at + done, length);
          done += length;
          count -= length;
          k += length;
        }
      },
      [](std::size_t) {});
  flush();
}

void block_reader::copy(slot at, count_t to, count_t length) {
  store& units = m_.map->units();
  const std::size_t offset = std::size_t{at} * units.unit_bytes();
  const std::size_t bytes = as_size(length) * units.unit_bytes();
  if (from_.seen != nullptr) {
    copy_bytes(units.at(to), from_.seen + offset, bytes);
    return;
  }
  if (used_ == batch) flush();
  parts_[used_++] = {from_.data + offset, units.at(to), bytes};
}

std::optional<rank_group> who_reads(std::span<const count_t> reported, const node_view* nodes, int rank) {
  const auto readable = [&](int r) { return reported[as_size(r)] >= 0; };
  if (nodes == nullptr) {
    const bool all = std::ranges::all_of(reported, [](count_t t) { return t >= 0; });
    return all ? std::optional(rank_group::all()) : std::nullopt;
  }
  const level& all = nodes->topology.nodes();
  const int own = all.group[as_size(rank)];
  bool any = false;
  bool here = false;
  for (int node = 0; node < all.groups(); ++node) {
    if (all.size(node) == 1 || !std::ranges::all_of(all.members(node), readable)) continue;
    any = true;
    here = here || node == own;
  }
  if (!any) return std::nullopt;
  return here ? rank_group::of(all, rank) : rank_group::none();
}

}  // namespace taquin::detail
