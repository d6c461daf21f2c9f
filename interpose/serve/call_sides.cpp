#include "interpose/serve/call_sides.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "interpose/serve/device.hpp"

namespace taquin::interpose {

using detail::as_size;

namespace {

constexpr count_t most_at_once = count_t{1} << 30U;  // bytes that MPI_Pack counts

}  // namespace

held_side::held_side(const blocks& side, std::size_t peers, bool keep_types, std::vector<element> elements)
    : view_(side), peers_(peers), elements_(std::move(elements)) {
  elements_.clear();
  if (side.types == nullptr) {
    if (keep_types) keep(view_.element);
    return;
  }
  elements_.reserve(peers);
  for (std::size_t i = 0; i < peers; ++i) {
    const bool empty = side.counts[static_cast<int>(i)] == 0;
    elements_.push_back(empty ? element::bytes(0) : element::of(side.types[i]));
    if (keep_types) keep(elements_.back());
  }
  view_.elements = elements_.data();
}

void held_side::keep(element& e) {
  if (e.contiguous() || e.type == MPI_DATATYPE_NULL) return;
  MPI_Datatype own = MPI_DATATYPE_NULL;
  TAQUIN_MPI(PMPI_Type_dup(e.type, &own));
  types_.emplace_back(own);
  e = element::of(own);
}

void held_side::stage() {
  staged_ = in_device_memory(view_, peers_);
  if (!staged_) return;
  counts_.resize(peers_);
  offsets_.resize(peers_);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < peers_; ++i) {
    counts_[i] = view_.bytes(static_cast<int>(i));
    offsets_[i] = bytes;
    bytes += counts_[i];
  }
  staging_.resize(as_size(bytes));
  staging_view_ = {.base = staging_.data(),
                   .counts = count_view(counts_.data()),
                   .displs = count_view(offsets_.data()),
                   .element = element::bytes(1)};
  to_view(true);
}

void held_side::deliver() {
  if (staged_) to_view(false);
}

// The MPI library packs and unpacks memory of a device where it can read it at all.
void held_side::to_view(bool in) {
  for (std::size_t i = 0; i < peers_; ++i) {
    const block b = view_[static_cast<int>(i)];
    auto* const at = static_cast<std::byte*>(view_.base) + b.offset;
    std::byte* const packed = staging_.data() + offsets_[i];
    const count_t step = b.element.size > 0 ? std::max<count_t>(most_at_once / b.element.size, 1) : b.count;
    for (count_t k = 0; k < b.count && b.element.size > 0; k += step) {
      const auto n = static_cast<int>(std::min(step, b.count - k));
      const auto bytes = static_cast<int>(n * b.element.size);
      std::byte* const data = at + k * b.element.extent;
      int position = 0;
      if (in)
        TAQUIN_MPI(PMPI_Pack(data, n, b.element.type, packed + k * b.element.size, bytes, &position, MPI_COMM_SELF));
      else
        TAQUIN_MPI(PMPI_Unpack(packed + k * b.element.size, bytes, &position, data, n, b.element.type, MPI_COMM_SELF));
    }
  }
}

}  // namespace taquin::interpose
