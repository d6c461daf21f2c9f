// lean_bruck: zero-copy Bruck with half the intermediate buffer.
//
// Source:  answers the open problem of Träff, Rougier, Hunold, §5; docs/internals/bruck.md has the proof.
// Rounds:  as zero_copy_bruck.
// Bytes:   as zero_copy_bruck.
// Memory:  for r = 2 p − 2^(⌈log₂ p⌉−1) − 1 ≤ ⌊p/2⌋ − 1 blocks; for any radix the least that zero copy allows, none for
//          r ≥ p.
// Limits:  as zero_copy_bruck.
// Wins:    large blocks in little memory.
//
// A block waits from the round that brings it to the round that sends it on, both included. A receive block is free for
// other blocks until its own block arrives to stay. In reverse order every receive block is occupied at first, and is
// freed at the round of its index' highest digit. Any free place for each waiting block is then the greedy colouring of
// an interval graph, which needs as many places as blocks wait in the worst round.
#include <algorithm>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/bruck/zero_copy_bruck.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

using namespace bruck;

// The blocks that wait, leave or arrive in the worst round, less the receive blocks, without the rank's own block.
std::size_t spare_blocks(int ranks, int radix) noexcept {
  count_t most = 0;
  for_each_weight(ranks, radix, [&](count_t weight) {
    count_t arriving = 0;
    for_each_digit(ranks, radix, weight,
                   [&](count_t digit) { for_each_element(ranks, radix, weight, digit, [&](int) { ++arriving; }); });
    const count_t still_in_send_buffer = (ranks - 1) / weight + 1;  // multiples of the weight, the own block included
    most = std::max(most, 1 - still_in_send_buffer + arriving);
  });
  return as_size(most);
}

class colouring final : public placement {
 public:
  colouring(int ranks, int radix, std::size_t spare, std::pmr::memory_resource* memory)
      : ranks_(ranks), radix_(radix), rounds_(count(ranks, radix).rounds), table_(memory), free_(memory) {
    array_list::take(*this, as_size(ranks), rounds_, spare);
    if (rounds_ == 0) return;
    for (int j = 0; j < ranks; ++j) table_[index(rounds_ - 1, j)] = j;
    std::fill(free_.begin() + ranks, free_.end(), char{1});
    count_t weight = 1;
    for (std::size_t d = 1; d < rounds_; ++d) weight *= radix;
    for (std::size_t d = rounds_; d-- > 0; weight /= radix) step_back(d, weight);
  }

  [[nodiscard]] location after(count_t weight, int j) const override {
    std::size_t d = 0;
    for (count_t w = 1; w < weight; w *= radix_) ++d;
    return table_[index(d, j)];
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t round, int j) const { return round * as_size(ranks_) + as_size(j); }

  // Row d of the table holds the place of each element after round d. The row before follows from it: an element that
  // arrives in this round was at another place before it, and the place where it arrives was free.
  void step_back(std::size_t d, count_t weight) {
    if (d == 0) return;
    const auto moved = [&](int j) { return j / weight % radix_ != 0; };
    for (int j = 0; j < ranks_; ++j) table_[index(d - 1, j)] = moved(j) ? in_send_buffer : table_[index(d, j)];
    for (int j = 0; j < ranks_; ++j)  // its own receive block, if that is free: adjacent blocks stay adjacent
      if (moved(j) && j % weight != 0 && free_[as_size(j)] != 0) take(d - 1, j, j);
    location next = 0;
    for (int j = 0; j < ranks_; ++j) {
      if (!moved(j) || j % weight == 0 || table_[index(d - 1, j)] != in_send_buffer) continue;
      while (free_[as_size(next)] == 0) ++next;
      take(d - 1, j, next);
    }
    for (int j = 0; j < ranks_; ++j)
      if (moved(j)) free_[as_size(table_[index(d, j)])] = 1;
  }

  void take(std::size_t round, int j, location place) {
    table_[index(round, j)] = place;
    free_[as_size(place)] = 0;
  }

  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks, std::size_t rounds, std::size_t spare) {
    each(&colouring::table_, rounds * ranks);
    each(&colouring::free_, ranks + spare);
  }

  int ranks_;
  int radix_;
  std::size_t rounds_;
  std::pmr::vector<location> table_;
  std::pmr::vector<char> free_;
};

bruck_layout layout_of(const options& o) noexcept {
  return o.bruck.layout == bruck_layout::automatic ? bruck_layout::regular : o.bruck.layout;
}

std::size_t memory_of_lean_bruck(const shape& s, const options& o) noexcept {
  const int radix = radix_of(o, s.ranks);
  const figures f = count(s.ranks, radix);
  const std::size_t spare = spare_blocks(s.ranks, radix);
  const auto p = as_size(s.ranks);
  return zero_copy_memory(s, f, layout_of(o), spare) + array_list::bytes<colouring>(p, f.rounds, spare);
}

schedule build_lean_bruck(const local_exchange& x, const shape& shape, const options& o,
                          std::pmr::memory_resource* memory) {
  const int radix = radix_of(o, x.ranks);
  const std::size_t spare = spare_blocks(x.ranks, radix);
  const colouring places(x.ranks, radix, spare, memory);
  return zero_copy_schedule(x, shape, radix, layout_of(o), places, spare, memory);
}

}  // namespace

const algorithm lean_bruck = bruck::regular<0>({
    .name = "lean_bruck",
    .summary = "zero-copy log rounds with half the intermediate buffer",
    .source = "ours, after Träff et al. §5",
    .memory = memory_of_lean_bruck,
    .build = build_lean_bruck,
});

}  // namespace taquin::detail
