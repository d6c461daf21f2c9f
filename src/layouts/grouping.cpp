#include "layouts/grouping.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "layouts/transpose.hpp"

namespace taquin::detail {

namespace {
constexpr std::size_t enough = 16384;  // bytes of a page, beyond which time no longer depends on it
}  // namespace

std::size_t grouping::bytes(std::size_t streams, std::size_t page_bytes, std::size_t most, bool whole) noexcept {
  return partitioner::footprint(streams, whole ? 0 : page_bytes) + sizeof(std::uint32_t) * (most / page_bytes) +
         sizeof(std::size_t) * (streams + 1) + page_bytes;
}

std::size_t grouping::page_for(std::size_t streams, std::size_t most, std::size_t space) noexcept {
  constexpr std::size_t least = 64;
  const double best = std::sqrt(sizeof(std::uint32_t) * static_cast<double>(most) / static_cast<double>(streams + 1));
  auto chosen = std::max<std::size_t>(static_cast<std::size_t>(best) / least * least, least);
  while (2 * chosen <= enough && bytes(streams, 2 * chosen, most) <= space) chosen *= 2;
  return chosen;
}

std::size_t grouping::whole_page_for(std::size_t streams, std::size_t most, std::size_t space,
                                     std::size_t run) noexcept {
  constexpr std::size_t least = 1024;  // smaller ones take longer to move than to partition
  std::size_t best = 0;
  for (std::size_t n = (run + enough - 1) / enough; n > 0 && run / n >= least; ++n) {
    if (run % n != 0) continue;
    const std::size_t page = run / n;
    if (bytes(streams, page, most, true) <= space) return page;
    if (best == 0 || bytes(streams, page, most, true) < bytes(streams, best, most, true)) best = page;
  }
  return best;
}

grouping::grouping(std::size_t streams, std::size_t page_bytes, std::size_t most, std::pmr::memory_resource* memory,
                   bool whole)
    : streams_(streams),
      page_(page_bytes),
      whole_(whole),
      partitioner_(streams, page_bytes, memory, whole),
      pages_(most / page_bytes, 0, memory),
      first_(streams + 1, 0, memory),
      spare_(page_bytes, std::byte{}, memory) {}

void grouping::restart() {
  partitioner_.restart();
  std::ranges::fill(first_, std::size_t{0});
}

// From the pages of each stream, counted at the stream behind, to the first one.
void grouping::number_pages() {
  for (std::size_t s = 0; s < streams_; ++s) first_[s + 1] += first_[s];
}

void grouping::bring_pages_together(std::byte* data, std::size_t full) {
  number_pages();
  const auto full_pages = std::span(pages_).first(full);
  for (auto& p : full_pages) p = static_cast<std::uint32_t>(first_[p]++);
  permute_pages(data, page_, full_pages, spare_.data());
}

void grouping::take_apart(std::byte* data, std::size_t full) {
  number_pages();
  std::size_t rests = 0;
  for (std::size_t s = 0; !whole_ && s < streams_; ++s) {  // the rests leave: all moves go down
    const std::size_t n = (first_[s + 1] - first_[s]) * page_;
    std::byte* const to = data + first_[s] * page_;
    if (rests > 0) std::memmove(to, to + rests, n);
    std::memcpy(partitioner_.rest(s), to + rests + n, partitioner_.rest_bytes(s));
    rests += partitioner_.rest_bytes(s);
  }
  // The k-th page of the array is the next one of stream pages_[k]: which page goes to place k.
  const auto full_pages = std::span(pages_).first(full);
  for (auto& p : full_pages) p = static_cast<std::uint32_t>(first_[p]++);
  gather_pages(data, page_, full_pages, spare_.data());
}

}  // namespace taquin::detail
