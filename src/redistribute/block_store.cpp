#include "redistribute/block_store.hpp"

#include <cstring>

#include "datatypes/typed_copy.hpp"

namespace taquin::detail {

block_store::block_store(void* data, slot blocks, count_t length, const taquin::element& e, slot staging,
                         std::pmr::memory_resource* memory)
    : data_(static_cast<std::byte*>(data)),
      blocks_(blocks),
      staging_(staging),
      length_(length),
      element_(e),
      plain_(e.contiguous()),
      bytes_(static_cast<std::size_t>(length * e.size)),
      stride_(static_cast<std::size_t>(length * e.extent)),
      extra_(static_cast<std::size_t>(staging) * bytes_, memory) {}

void block_store::copy(slot from, slot to, slot count) {
  const std::size_t n = bytes_ * count;
  copied_ += n;
  if (plain_ || (from >= blocks_ && to >= blocks_)) {
    std::memcpy(at(to), at(from), n);
    return;
  }
  const count_t elements = length_ * count;
  if (from >= blocks_) return unpack(at(from), at(to), elements, element_);
  if (to >= blocks_) return pack(at(from), elements, element_, at(to));
  typed_copy(at(from), elements, element_, at(to), elements, element_);
}

void block_store::gather(std::span<const slot_range> from, std::byte* to) {
  constexpr std::size_t ahead = 12;  // small blocks come from anywhere: fetched early, many at a time
  for (std::size_t i = 0; i < from.size(); ++i) {
    const slot_range& r = from[i];
    if (i + ahead < from.size()) __builtin_prefetch(at(from[i + ahead].first));
    const std::size_t n = bytes_ * r.count;
    if (plain_ || r.first >= blocks_) {
      std::memcpy(to, at(r.first), n);
    } else {
      pack(at(r.first), length_ * r.count, element_, to);
    }
    to += n;
    copied_ += n;
  }
}

}  // namespace taquin::detail
