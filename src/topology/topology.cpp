#include "topology/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/sizes.hpp"

namespace taquin::detail {

level level::of(std::string_view name, std::span<const int> colours) {
  level l;
  l.name = name;
  std::map<int, int> number;  // of each colour
  std::vector<int> sizes;
  for (const int colour : colours) {
    const auto [place, fresh] = number.try_emplace(colour, static_cast<int>(sizes.size()));
    if (fresh) sizes.push_back(0);
    l.group.push_back(place->second);
    l.index.push_back(sizes[at(place->second)]++);
  }
  l.first.assign(1, 0);
  for (const int size : sizes) l.first.push_back(l.first.back() + size);
  l.ranks.resize(colours.size());
  for (std::size_t rank = 0; rank < colours.size(); ++rank)
    l.ranks[at(l.first[at(l.group[rank])] + l.index[rank])] = static_cast<int>(rank);
  return l;
}

int level::largest() const noexcept {
  int most = 0;
  for (int g = 0; g < groups(); ++g) most = std::max(most, size(g));
  return most;
}

int level::smallest() const noexcept {
  int least = static_cast<int>(ranks.size());
  for (int g = 0; g < groups(); ++g) least = std::min(least, size(g));
  return least;
}

int level::second_largest() const noexcept {
  int most = 0;
  int second = 0;
  for (int g = 0; g < groups(); ++g) {
    second = std::max(second, std::min(most, size(g)));
    most = std::max(most, size(g));
  }
  return second;
}

std::int64_t level::factor_steps() const noexcept {
  const int n = largest();
  const int second = second_largest();
  std::int64_t odd = 0;
  for (int done = 0; done < n;) {  // phase by phase, as the sizes of the groups divide the local indices
    int current = n;
    int active = 0;
    for (int g = 0; g < groups(); ++g) {
      if (size(g) <= done) continue;
      current = std::min(current, size(g));
      ++active;
    }
    if (active >= 3 && active % 2 != 0) odd += current - done;
    done = current;
  }
  return n * (static_cast<std::int64_t>(ranks.size()) - n) + second * odd;
}

topology topology::of_sizes(std::span<const int> sizes) {
  std::vector<int> colours;
  for (std::size_t node = 0; node < sizes.size(); ++node)
    colours.insert(colours.end(), as_size(sizes[node]), static_cast<int>(node));
  return {{level::of("node", colours)}};
}

topology topology::of_single_ranks(int ranks) {
  std::vector<int> colours(as_size(ranks));
  std::iota(colours.begin(), colours.end(), 0);
  return {{level::of("node", colours)}};
}

int topology::most_groups(std::size_t l) const {
  const level& outer = levels[l - 1];
  std::vector<int> groups(as_size(outer.groups()));
  for (int g = 0; g < levels[l].groups(); ++g) ++groups[as_size(outer.group[as_size(levels[l].member(g, 0))])];
  return *std::ranges::max_element(groups);
}

topology topology::inside(int node) const {
  topology t;
  for (std::size_t l = 1; l < levels.size(); ++l) {
    std::vector<int> colours;
    for (const int rank : nodes().members(node)) colours.push_back(levels[l].group[as_size(rank)]);
    t.levels.push_back(level::of(levels[l].name, colours));
  }
  return t;
}

void topology::refine(std::string_view name, std::span<const int> colours) {
  std::map<std::pair<int, int>, int> number;
  std::vector<int> refined;
  for (std::size_t rank = 0; rank < colours.size(); ++rank)
    refined.push_back(
        number.try_emplace({levels.back().group[rank], colours[rank]}, static_cast<int>(number.size())).first->second);
  level finer = level::of(name, refined);
  if (finer.groups() > levels.back().groups()) levels.push_back(std::move(finer));
}

}  // namespace taquin::detail
