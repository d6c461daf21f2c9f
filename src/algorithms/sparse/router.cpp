#include "algorithms/sparse/router.hpp"

namespace taquin::detail {

namespace {

// f(class, weight, digits) for each class.
template <class Each>
void each_class(int ranks, int radix, Each f) {
  int k = 0;
  for (std::int64_t weight = 1; weight < ranks; weight *= radix, ++k)
    f(k, weight, static_cast<int>(std::min<std::int64_t>(radix - 1, (ranks - 1) / weight)));
}

}  // namespace

int header_router::classes(int ranks, int radix) noexcept {
  int n = 0;
  each_class(ranks, radix, [&](int, std::int64_t, int) { ++n; });
  return n;
}

int header_router::channels(int ranks, int radix) noexcept {
  int n = 0;
  each_class(ranks, radix, [&](int, std::int64_t, int digits) { n += digits; });
  return n;
}

int header_router::radix_for(int ranks, int most, std::size_t in_flight) noexcept {
  int radix = std::max(most, 2);
  while (radix > 2 && as_size(channels(ranks, radix)) > in_flight) radix = (radix + 1) / 2;
  return radix;
}

std::size_t header_router::footprint(int ranks, int radix, std::size_t message_bytes) noexcept {
  return array_list::bytes<header_router>(as_size(channels(ranks, radix)), as_size(classes(ranks, radix)),
                                          message_bytes);
}

header_router::header_router(int rank, int ranks, int radix, std::size_t message_bytes, own_headers& mine,
                             count_t element_bytes, std::pmr::memory_resource* memory)
    : rank_(rank),
      ranks_(ranks),
      radix_(radix),
      message_bytes_(message_bytes),
      mine_(mine),
      element_bytes_(element_bytes),
      out_(memory),
      in_(memory),
      buffers_(memory) {
  array_list::take(*this, as_size(channels(ranks, radix)), as_size(classes(ranks, radix)), message_bytes);
  std::size_t c = 0;
  each_class(ranks, radix, [&](int k, std::int64_t weight, int digits) {
    in_[as_size(k)].open = digits;
    for (int d = 1; d <= digits; ++d, ++c) {
      out_[c].to = static_cast<int>((rank + d * weight) % ranks);
      out_[c].of = static_cast<std::uint16_t>(k);
    }
  });
}

std::size_t header_router::channel_for(int to, std::size_t least) const noexcept {
  std::int64_t distance = to - rank_;
  if (distance < 0) distance += ranks_;
  std::size_t before = 0;  // channels of lower classes
  std::size_t found = out_.size();
  each_class(ranks_, radix_, [&](int k, std::int64_t weight, int digits) {
    const std::int64_t digit = distance / weight % radix_;
    if (found == out_.size() && as_size(k) >= least && digit > 0) found = before + as_size(digit) - 1;
    before += as_size(digits);
  });
  return found;
}

std::byte* header_router::append(std::size_t c, std::size_t bytes) noexcept {
  out& o = out_[c];
  if (o.leaves || o.full) return nullptr;
  if (o.used + bytes > message_bytes_) {
    o.full = true;
    return nullptr;
  }
  std::byte* const to = place(c) + o.used;
  o.used += static_cast<std::uint32_t>(bytes);
  return to;
}

std::span<const std::byte> header_router::begin(std::size_t c) noexcept {
  out& o = out_[c];
  const std::uint64_t last = o.full ? 0 : 1;
  std::memcpy(place(c), &last, sizeof last);
  o.leaves = true;
  return {place(c), o.used};
}

void header_router::sent(std::size_t c) noexcept {
  out& o = out_[c];
  o.ended = !o.full;
  o.leaves = o.full = false;
  o.used = head;
}

void header_router::arrived(std::size_t k, std::size_t bytes) noexcept {
  std::uint64_t last = 0;
  std::memcpy(&last, buffer(k).data(), sizeof last);
  if (last != 0) --in_[k].open;
  in_[k].at = head;
  in_[k].end = static_cast<std::uint32_t>(bytes);
}

}  // namespace taquin::detail
