#include "algorithms/direct/two_phase.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

std::size_t moves_of_two_phase(const whole_exchange& x, const shape& s, const options& o, const moves_target& to) {
  using namespace balanced;
  const int p = x.ranks();
  whole_exchange first(p);
  whole_exchange second(p);
  first.traced = second.traced = x.traced;
  for (int i = 0; i < p; ++i) {
    cutter cut(i, p);
    for (int j = 0; j < p; ++j)
      cut.next(x.bytes(i, j)).each_part(p, [&](int k, part q) {
        first.add(i, k, x, i, j, q.offset, q.bytes);
        second.add(k, j, x, i, j, q.offset, q.bytes);
      });
  }
  const auto copy_on_all = [&](std::size_t round, place from, place into, auto bytes) {
    for (int r = 0; r < p; ++r) to.all.copy(round, {to.members[as_size(r)], bytes(r), from, into});
  };
  copy_on_all(to.first, place::send, place::scratch, [&](int r) { return x.sent(r); });
  const std::size_t middle = add_moves(inner_of(o), first, inner_shape(s, phase::first), o, to);
  for (int r = 0; middle > to.first && r < p; ++r) to.all.keep(middle - 1, {to.members[as_size(r)], first.received(r)});
  copy_on_all(middle, place::scratch, place::scratch, [&](int r) { return second.sent(r); });
  const std::size_t end =
      add_moves(inner_of(o), second, inner_shape(s, phase::second), o, {to.all, to.members, middle});
  copy_on_all(std::max(end, middle + 1) - 1, place::scratch, place::recv, [&](int r) { return x.received(r); });
  return std::max(end, middle + 1);
}

}  // namespace taquin::detail
