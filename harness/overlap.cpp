#include "harness/overlap.hpp"

#include <algorithm>
#include <deque>

#include "base/sizes.hpp"

namespace taquin::harness {

std::vector<section> sections_of(const std::vector<problem>& calls) {
  std::vector<section> all;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const how_called& how = calls[i].called();
    if (i > 0 && how.in_flight > 0) {
      all.back().end = i + 1;
      all.back().overlaps = true;
    } else {
      all.push_back({i, i + 1, how.in_flight > 0});
    }
  }
  return all;
}

arenas::arenas(std::pmr::memory_resource* from, const std::vector<problem>& calls)
    : shared_{.from = from}, own_(calls.size()) {
  for (const section& s : sections_of(calls)) {
    for (std::size_t i = s.first; i < s.end; ++i) {
      if (!calls[i].takes_part()) continue;
      if (!s.overlaps) {
        calls[i].reserve(shared_);
        continue;
      }
      // In place each one finds its data once.
      const auto most = calls[i].how() == buffering::separate
                            ? static_cast<std::uint64_t>(calls[i].called().in_flight) + 1
                            : calls[i].repeats();
      const auto slots = detail::as_size(std::min(most, calls[i].repeats()));
      for (std::size_t k = 0; k < slots; ++k) calls[i].reserve(own_[i].emplace_back(arena{.from = from}));
    }
  }
}

void execute(const std::vector<problem>& calls, const section& s, const std::vector<std::vector<operation>>& slots) {
  std::deque<const operation*> in_flight;
  const auto complete_until = [&](std::size_t most) {
    for (; in_flight.size() > most; in_flight.pop_front()) in_flight.front()->end();
  };
  for (std::size_t i = s.first; i < s.end; ++i) {
    if (!calls[i].takes_part()) continue;
    for (std::uint64_t n = 0; n < calls[i].repeats(); ++n) {
      complete_until(detail::as_size(calls[i].called().in_flight));
      const operation& o = slots[i][n % slots[i].size()];
      o.begin();
      if (o.end) in_flight.push_back(&o);
    }
  }
  complete_until(0);
}

}  // namespace taquin::harness
