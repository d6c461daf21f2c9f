// notify_grid: notices and small data go over at most one other rank, as in a grid of √p by √p.
//
// Source: R. van de Geijn & J. Watts and many others: grids of processes; the grid alltoall of KaMPIng has it for
//         exchanges. Here row and column are the two digits of the way, so any number of ranks will do.
// Rounds: 2, each of √p messages; more where that would be more than `in_flight` messages at once.
// Bytes: 48 for each notice, and twice its data where they are small.
// Memory: a message for each that leaves or comes: 2·√p, or what `in_flight` allows.
// Limits: none.
// Wins: dense patterns, where most ranks have something for most.
#include "algorithms/sparse/routed.hpp"

namespace taquin::detail {

namespace {

int radix_of(int ranks, std::size_t in_flight) noexcept {
  int side = 2;
  while (std::int64_t{side} * side < ranks) ++side;
  return notice_router::radix_for(ranks, side, in_flight);
}

void find(finding& f) { find_routed(f, radix_of(f.comm.size(), f.in_flight)); }

std::size_t memory(int ranks, std::size_t in_flight, std::size_t message_bytes) noexcept {
  return routed_memory(ranks, radix_of(ranks, in_flight), message_bytes);
}

std::uint64_t nanoseconds(const sparse_shape& s) noexcept {
  return routed_nanoseconds(s, radix_of(s.ranks, s.in_flight));
}

}  // namespace

extern const sparse_algorithm notify_grid;
const sparse_algorithm notify_grid{
    .name = "notify_grid",
    .summary =
        "notices of blocks in two rounds over a grid of ranks, with small data; others as receivers ask for them",
    .source = "grids of processes; KaMPIng",
    .rounds = "2 + 2",
    .find = find,
    .memory = memory,
    .nanoseconds = nanoseconds};

}  // namespace taquin::detail
