#include "algorithms/sparse/notices.hpp"

#include <algorithm>
#include <tuple>

#include "base/sizes.hpp"

namespace taquin::detail {

std::span<const notice> notice_rounds::leave(int round) {
  leaving_.clear();
  const auto n = std::ranges::count_if(here_, [&](const notice& x) { return leaves(x, round); });
  leaving_.reserve(as_size(n));
  auto stays = here_.begin();
  for (const notice& x : here_) {
    if (leaves(x, round))
      leaving_.push_back(x);
    else
      *stays++ = x;
  }
  here_.erase(stays, here_.end());
  return leaving_;
}

// Blocks of one source lie in its data in their order: no stable sort is needed, which takes memory. Those without
// elements may lie where the next one does, and are then alike.
std::span<const notice> notice_rounds::sorted() {
  std::pmr::vector<notice>(leaving_.get_allocator()).swap(leaving_);
  std::ranges::sort(here_, {}, [](const notice& n) { return std::tuple(n.from, n.first, n.count); });
  return here_;
}

}  // namespace taquin::detail
