#include "call/forwarded_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "call/agreement_rounds.hpp"

namespace taquin::detail {

namespace {

// f(the blocks in a message, the blocks in all messages of the round) at most, for each round: as many as there are
// distances with such a digit. No digit has more than the lowest.
template <class Each>
void each_round(int ranks, Each f) {
  for (agreement_rounds r(ranks); !r.done(); r.next()) {
    const std::int64_t weight = r.width();
    const std::int64_t period = weight * r.radix();
    const std::int64_t of_zero = ranks / period * weight + std::min(ranks % period, weight);
    const std::int64_t of_one = ranks / period * weight + std::clamp<std::int64_t>(ranks % period - weight, 0, weight);
    f(as_size(of_one), as_size(ranks - of_zero), as_size(r.digits()));
  }
}

}  // namespace

std::size_t forwarded_blocks::most_bytes_of(int ranks) noexcept {
  std::size_t blocks = 1;
  each_round(ranks, [&](std::size_t of_message, std::size_t, std::size_t) { blocks = std::max(blocks, of_message); });
  const std::size_t each = (most_message - sizeof(property_record)) / blocks;
  return each < sizeof(head) ? 0 : (each - sizeof(head)) / 8 * 8;
}

forwarded_blocks::amounts forwarded_blocks::amounts_of(int ranks) noexcept {
  const std::size_t each = sizeof(head) + most_bytes_of(ranks);
  amounts n{.ranks = as_size(ranks), .held = as_size(ranks) * each + most_message, .blocks = as_size(ranks)};
  each_round(ranks, [&](std::size_t, std::size_t of_round, std::size_t digits) {
    const std::size_t bytes = of_round * each + digits * sizeof(property_record);
    n.sent = std::max(n.sent, bytes);
    n.held += bytes;
    n.blocks += of_round;
  });
  return n;
}

std::size_t forwarded_blocks::footprint(int ranks) noexcept {
  return array_list::bytes<forwarded_blocks>(amounts_of(ranks));
}

forwarded_blocks::forwarded_blocks(int rank, int ranks, std::pmr::memory_resource* memory)
    : rank_(rank),
      ranks_(ranks),
      radix_(agreement_radix(ranks)),
      held_(memory),
      sending_(memory),
      at_(memory),
      arrived_(memory) {
  array_list::take(*this, amounts_of(ranks));
  std::ranges::fill(arrived_, none);
}

forwarded_blocks::head forwarded_blocks::head_at(std::size_t at) const noexcept {
  head h;
  std::memcpy(&h, held_.data() + at, sizeof h);
  return h;
}

// A block is there.
void forwarded_blocks::note(std::size_t at) {
  const head h = head_at(at);
  at_.push_back(static_cast<std::uint32_t>(at));
  if (h.to == rank_) arrived_[as_size(h.from)] = static_cast<std::uint32_t>(at);
}

std::byte* forwarded_blocks::payload(std::size_t bytes) {
  const head h{rank_, next_++, bytes};
  const std::size_t at = used_;
  if (bytes == 0) return held_.data() + at;
  std::memcpy(held_.data() + at, &h, sizeof h);
  used_ += h.with_data();
  std::fill_n(held_.data() + at + sizeof h + bytes, h.with_data() - sizeof h - bytes, std::byte{0});
  note(at);
  return held_.data() + at + sizeof h;
}

std::span<const std::byte> forwarded_blocks::block(int from) const noexcept {
  const std::uint32_t at = arrived_[as_size(from)];
  if (at == none) return {};
  return {held_.data() + at + sizeof(head), head_at(at).bytes};
}

void forwarded_blocks::begin_round(int weight) noexcept {
  weight_ = weight;
  loaded_ = 0;
  ++rounds_;
}

// A block whose lower digits are not zero has left with an earlier round, and one whose distance is zero is here.
std::span<const std::byte> forwarded_blocks::load(std::span<const std::byte> record, int digit) noexcept {
  std::byte* const message = sending_.data() + loaded_;
  copy_bytes(message, record.data(), record.size());
  std::size_t bytes = record.size();
  for (const std::uint32_t at : at_) {
    const head h = head_at(at);
    const int distance = (h.to - rank_ + ranks_) % ranks_;
    if (distance % weight_ != 0 || distance / weight_ % radix_ != digit) continue;
    copy_bytes(message + bytes, held_.data() + at, h.with_data());
    bytes += h.with_data();
  }
  loaded_ += bytes;
  ++messages_;
  bytes_sent_ += bytes;
  return {message, bytes};
}

void forwarded_blocks::unload(std::span<const std::byte> message) noexcept {
  const std::size_t end = used_ + message.size();
  std::size_t at = used_ + std::min(message.size(), sizeof(property_record));
  used_ = end;
  for (; at < end; at += head_at(at).with_data()) note(at);
}

}  // namespace taquin::detail
