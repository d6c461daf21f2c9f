#include <utility>

#include "simulation/sparse_moves.hpp"

namespace taquin::detail {

void sparse_moves::drop_empty_rounds() {
  std::size_t kept = 0;
  stages.resize(all.rounds.size());
  meets.resize(all.rounds.size());
  taken.resize(all.rounds.size());
  bool meeting = false;
  for (std::size_t i = 0; i < all.rounds.size(); ++i) {
    meeting = meeting || meets[i];
    if (all.rounds[i].messages.empty() && all.rounds[i].copies.empty()) continue;
    stages[kept] = stages[i];
    taken[kept] = taken[i];
    meets[kept++] = std::exchange(meeting, false);
  }
  stages.resize(kept);
  meets.resize(kept);
  taken.resize(kept);
  all.drop_empty_rounds();
}

}  // namespace taquin::detail
