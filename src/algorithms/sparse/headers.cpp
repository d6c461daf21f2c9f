#include "algorithms/sparse/headers.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <tuple>

#include "datatypes/typed_copy.hpp"

namespace taquin::detail {

header_fields own_headers::head() const noexcept {
  const count_t n = counts_[static_cast<int>(next_)];
  const bool travels = n > 0 && as_size(n * mine_.element.size) <= piggybacked_;
  return {rank_, destinations_[next_], n * 2 + (travels ? 1 : 0), first_};
}

void own_headers::write(std::byte* to) {
  const header_fields h = head();
  std::memcpy(to, &h, sizeof h);
  if (h.has_data()) {
    const element& e = mine_.element;
    const std::byte* const from = mine_.at + first_ * e.extent;
    std::byte* const data = to + sizeof h;
    const std::size_t n = as_size(h.count() * e.size);
    std::fill(data + n, to + h.bytes(e.size), std::byte{0});
    if (e.contiguous())
      std::memcpy(data, from, n);
    else
      pack(from, h.count(), e, data);
  }
  skip();
}

void own_headers::skip() noexcept {
  const header_fields h = head();
  if (!h.has_data()) left_ += h.count();
  first_ += h.count();
  ++next_;
}

void header_store::drop() noexcept {
  std::pmr::vector<std::byte>(arrived_.get_allocator()).swap(arrived_);
  std::pmr::vector<header>(headers_.get_allocator()).swap(headers_);
}

// Blocks of one source lie in its data in their order: no stable sort is needed, which allocates. Those without
// elements may have the offset of the next one, and are then equal.
std::span<const header> header_store::sorted(count_t element_bytes) {
  if (arrived_.size() / 8 > as_size(std::numeric_limits<std::int32_t>::max())) throw std::bad_alloc();
  std::size_t blocks = 0;
  bool any_data = false;
  const std::span<const std::byte> all(arrived_);
  const auto each = [&](auto f) {
    for (std::size_t at = 0; at < all.size();) {
      const header_fields h = header_fields::of(all.subspan(at));
      f(h, at);
      at += h.bytes(element_bytes);
    }
  };
  each([&](const header_fields& h, std::size_t) {
    ++blocks;
    any_data = any_data || h.has_data();
  });
  headers_.reserve(blocks);
  each([&](const header_fields& h, std::size_t at) {
    const std::int32_t to = h.has_data() ? header::here - static_cast<std::int32_t>(at / 8) : h.to;
    headers_.push_back({h.from, to, h.count(), h.first});
  });
  if (!any_data) std::pmr::vector<std::byte>(arrived_.get_allocator()).swap(arrived_);
  std::ranges::sort(headers_, {}, [](const header& n) { return std::tuple(n.from, n.first, n.count); });
  return headers_;
}

}  // namespace taquin::detail
