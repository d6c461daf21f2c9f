#include <cstddef>
#include <list>
#include <utility>
#include <vector>

#include "algorithms/bruck/bruck_v_schedule.hpp"
#include "algorithms/bruck/zero_copy_bruck_v.hpp"
#include "base/sizes.hpp"
#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

using namespace bruck;

namespace {

// The sizes that each rank learns, forwarded from rank to rank as when a plan is made; then all ranks' schedules.
template <class History, class Build>
std::size_t add_planned(const whole_exchange& x, const route& r, const moves_target& to, Build build) {
  const int p = x.ranks();
  std::list<known_part> parts;
  std::list<History> sizes;
  std::vector<History*> of_rank;
  of_rank.reserve(as_size(p));
  for (int rank = 0; rank < p; ++rank)
    of_rank.push_back(
        &sizes.emplace_back(parts.emplace_back(x.part(rank)).local(), r, std::pmr::new_delete_resource()));
  for_each_weight(p, r.radix, [&](count_t weight) {
    std::vector<std::vector<std::byte>> arriving;  // by digit, then by sender
    for_each_digit(p, r.radix, weight, [&](count_t digit) {
      for (History* one : of_rank) {
        std::vector<std::byte> message(one->capacity());
        message.resize(one->load(weight, digit, message));
        arriving.push_back(std::move(message));
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
  for (const History* one : of_rank) all.push_back(build((part++)->local(), one->received()));
  to.all.drawn_as = "reused plan";
  return add_schedules(x, all, to);
}

}  // namespace

// A plan that is reused, whose messages hold only data.
std::size_t moves_of_bruck_v(const whole_exchange& x, const shape& s, const options& o, const moves_target& to) {
  to.all.note =
      "Drawn as a plan that is reused: its messages are data alone, and blocks of up to 1 KiB take the log rounds. In "
      "a blocking call blocks of up to 256 bytes do, less among many ranks, each with its size, 2 bytes, within the "
      "messages by which the ranks agree.";
  const route r = reused_route(x.ranks(), o);
  return add_planned<size_history>(x, r, to, [&](const local_exchange& mine, const auto& received) {
    return bruck_v_schedule(mine, s, o, r, received, std::pmr::new_delete_resource());
  });
}

std::size_t moves_of_zero_copy_bruck_v(const whole_exchange& x, const shape& s, const options& o,
                                       const moves_target& to) {
  to.all.note =
      "Drawn as a plan that is reused. A blocking call has as many rounds before these, in which the sizes of the "
      "blocks travel, 8 bytes each.";
  const route r = zero_copy_v_route(s, o);
  return add_planned<wide_history>(x, r, to, [&](const local_exchange& mine, const auto& received) {
    return zero_copy_v_schedule(mine, s, r, received, nullptr, std::pmr::new_delete_resource());
  });
}

}  // namespace taquin::detail
