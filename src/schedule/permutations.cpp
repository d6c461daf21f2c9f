#include "schedule/permutations.hpp"

namespace taquin::detail {

namespace {

constexpr int nobody = -1;

// Where `rank` + k is, or nobody.
int neighbour(permutation kind, int rank, int ranks, int k) {
  switch (kind) {
    case permutation::shift:
      return rank + k >= 0 && rank + k < ranks ? rank + k : nobody;
    case permutation::ring:
      return ((rank + k) % ranks + ranks) % ranks;
    case permutation::hypercube:
      break;
  }
  return (rank ^ k) < ranks ? rank ^ k : nobody;
}

}  // namespace

schedule permute(permutation kind, ordering order, int rank, int ranks, int k, count_t bytes,
                 std::pmr::memory_resource* memory) {
  schedule s(memory, {1, 2, 2, 1, 2});
  const std::uint32_t type = s.add_type(element::bytes(1));
  const region out{.count = bytes, .type = type, .where = place::send};
  const region in{.count = bytes, .type = type, .where = place::recv};
  const int to = neighbour(kind, rank, ranks, k);
  const int from = neighbour(kind, rank, ranks, kind == permutation::hypercube ? k : -k);
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
