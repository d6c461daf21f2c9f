#include <utility>

#include "simulation/sparse_moves.hpp"

namespace taquin::detail {

void sparse_moves::drop_empty_rounds() {
  std::size_t kept = 0;
  stages.resize(all.rounds.size());
  synchronizes.resize(all.rounds.size());
  taken.resize(all.rounds.size());
  bool synchronizing = false;
  for (std::size_t i = 0; i < all.rounds.size(); ++i) {
    synchronizing = synchronizing || synchronizes[i];
    if (all.rounds[i].messages.empty() && all.rounds[i].copies.empty()) continue;
    stages[kept] = stages[i];
    taken[kept] = taken[i];
    synchronizes[kept++] = std::exchange(synchronizing, false);
  }
  stages.resize(kept);
  synchronizes.resize(kept);
  taken.resize(kept);
  all.drop_empty_rounds();
}

}  // namespace taquin::detail
