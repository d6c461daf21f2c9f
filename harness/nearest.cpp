#include "harness/nearest.hpp"

#include <algorithm>

namespace taquin::harness {

namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> d((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) d[i * width] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      std::size_t& least = d[i * width + j];
      least = std::min({d[(i - 1) * width + j] + 1, d[i * width + j - 1] + 1, d[(i - 1) * width + j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, d[(i - 2) * width + j - 2] + 1);
    }
  return d.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t most = 2;
  std::string best;
  std::size_t least = std::min(most + 1, word.size());
  for (const std::string& one : known) {
    const std::size_t away = distance(word, one);
    if (away >= least) continue;
    least = away;
    best = one;
  }
  return best;
}

}  // namespace taquin::harness
