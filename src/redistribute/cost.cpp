#include "redistribute/cost.hpp"

namespace taquin::detail {

redistribution_load load_of(const redistribution_problem& p, const buffer_sizes& buffers) noexcept {
  const auto blocks = static_cast<double>(p.most_blocks);
  return {.ranks = p.ranks,
          .blocks = blocks,
          .leaving = blocks * (p.ranks - 1) / p.ranks,
          .free = 0,
          .peers = std::min(p.ranks - 1.0, blocks),
          .block_bytes = static_cast<double>(p.block_bytes),
          .buffers = buffers};
}

}  // namespace taquin::detail
