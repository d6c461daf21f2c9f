#include "schedule/permutations.hpp"

#include <cstdint>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

constexpr int nobody = -1;

// Where `rank` + k is, or no rank.
int neighbour(patterns::permutation kind, int rank, int ranks, int k) {
  const auto there = static_cast<std::int64_t>(rank) + k;
  switch (kind) {
    case patterns::permutation::shift:
      return there >= 0 && there < ranks ? static_cast<int>(there) : nobody;
    case patterns::permutation::ring:
      return static_cast<int>((there % ranks + ranks) % ranks);
    case patterns::permutation::hypercube:
      break;
  }
  return (rank ^ k) < ranks ? rank ^ k : nobody;
}

// The source of a shift or ring: the rank k places before.
int sender(patterns::permutation kind, int rank, int ranks, int k) {
  const auto there = static_cast<std::int64_t>(rank) - k;
  if (kind == patterns::permutation::ring) return static_cast<int>((there % ranks + ranks) % ranks);
  return there >= 0 && there < ranks ? static_cast<int>(there) : nobody;
}

}  // namespace

std::string_view name_of(patterns::permutation kind) noexcept {
  constexpr std::array<std::string_view, all_permutations.size()> names{"shift", "ring", "hypercube"};
  return names[as_size(static_cast<int>(kind))];
}

std::string_view summary_of(patterns::permutation kind) noexcept {
  constexpr std::array<std::string_view, all_permutations.size()> texts{
      "every rank to the one k places on, on a line", "every rank to the one k places on, on a circle",
      "every rank with the one whose number differs in the bits of k"};
  return texts[as_size(static_cast<int>(kind))];
}

schedule permute(patterns::permutation kind, ordering order, int rank, int ranks, int k, count_t count,
                 const element& e, std::pmr::memory_resource* memory) {
  schedule s(memory, {1, 2, 2, 1, 2});
  const std::uint32_t type = s.add_type(e);
  const region out{.count = count, .type = type, .where = place::send};
  const region in{.count = count, .type = type, .where = place::recv};
  const int to = neighbour(kind, rank, ranks, k);
  const int from = kind == patterns::permutation::hypercube ? to : sender(kind, rank, ranks, k);
  if (to == rank) {
    s.add_copy(out, in);
    s.end_round();
    return s;
  }
  const auto send = [&] {
    if (to != nobody) s.send(to, out);
  };
  const auto recv = [&] {
    if (from != nobody) s.recv(from, in);
  };
  if (order == ordering::send_first) {
    send();
    s.end_round();
    recv();
  } else {
    recv();
    send();
  }
  s.end_round();
  return s;
}

}  // namespace taquin::detail
