#include <cstddef>
#include <list>
#include <vector>

#include "algorithms/bruck/bruck_v_schedule.hpp"
#include "base/sizes.hpp"
#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

using namespace bruck;

// A plan that is reused, whose messages hold only data. Sizes are forwarded from rank to rank, as when the plan is
// made.
std::size_t moves_of_bruck_v(const whole_exchange& x, const shape& s, const options& o, const moves_target& to) {
  const int p = x.ranks();
  const route r = reused_route(p, o);
  std::list<known_part> parts;
  std::list<size_history> sizes;
  std::vector<size_history*> of_rank;
  of_rank.reserve(as_size(p));
  for (int rank = 0; rank < p; ++rank) {
    of_rank.push_back(
        &sizes.emplace_back(parts.emplace_back(x.part(rank)).local(), r, std::pmr::new_delete_resource()));
  }
  std::vector<std::byte> message(r.capacity(false));
  for_each_weight(p, r.radix, [&](count_t weight) {
    std::vector<std::vector<std::byte>> arriving;  // by digit, then by sender
    for_each_digit(p, r.radix, weight, [&](count_t digit) {
      for (size_history* one : of_rank) {
        const auto bytes = static_cast<std::ptrdiff_t>(one->load(weight, digit, message));
        arriving.emplace_back(message.begin(), message.begin() + bytes);
      }
    });
    auto next = arriving.begin();
    for_each_digit(p, r.radix, weight, [&](count_t digit) {
      for (int from = 0; from < p; ++from, ++next)
        of_rank[as_size((from + digit * weight) % p)]->unload(weight, digit, *next);
    });
  });
  std::vector<schedule> all;
  all.reserve(of_rank.size());
  auto part = parts.begin();
  for (const size_history* one : of_rank)
    all.push_back(bruck_v_schedule((part++)->local(), s, o, r, one->received(), std::pmr::new_delete_resource()));
  to.all.drawn_as = "reused plan";
  to.all.note =
      "Drawn as a plan that is reused: its messages are data alone, and blocks of up to 1 KiB take the log rounds. In "
      "a blocking call blocks of up to 256 bytes do, less among many ranks, each with its size, 2 bytes, within the "
      "messages by which the ranks agree.";
  return add_schedules(x, all, to);
}

}  // namespace taquin::detail
