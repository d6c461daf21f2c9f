#include <algorithm>
#include <array>

#include "algorithms/algorithm.hpp"

namespace taquin::detail {

namespace {
constexpr std::array all{
#define TAQUIN_ALGORITHM(name) &(name),
#include "algorithms/algorithms.def"
#undef TAQUIN_ALGORITHM
};
}  // namespace

std::span<const algorithm* const> algorithms() noexcept { return all; }

const algorithm* find_algorithm(std::string_view name) noexcept {
  const auto found = std::ranges::find(all, name, [](const algorithm* a) { return a->name; });
  return found == all.end() ? nullptr : *found;
}

std::string algorithm_names() {
  std::string names;
  for (const algorithm* a : all) {
    if (!names.empty()) names += ", ";
    names += a->name;
  }
  return names;
}

}  // namespace taquin::detail
