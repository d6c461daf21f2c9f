#include <array>

#include "algorithms/sparse/algorithm.hpp"

namespace taquin::detail {

namespace {

#define TAQUIN_SPARSE(NAME) &(NAME),
const std::array all{
#include "algorithms/sparse/sparse.def"
};
#undef TAQUIN_SPARSE

}  // namespace

std::span<const sparse_algorithm* const> sparse_algorithms() noexcept { return all; }

const sparse_algorithm* find_sparse(std::string_view name) noexcept {
  if (name == "auto") return &notify_tree;
  for (const sparse_algorithm* a : all)
    if (a->name == name) return a;
  return nullptr;
}

std::string sparse_names() {
  std::string names;
  for (const sparse_algorithm* a : all) names += (names.empty() ? "" : ", ") + std::string(a->name);
  return names;
}

}  // namespace taquin::detail
