// notify_grid: notices and small data go over at most one other rank, as in a grid of √p by √p.
//
// Source: R. van de Geijn & J. Watts and many others: grids of processes; the grid alltoall of KaMPIng has it for
//         exchanges. Here row and column are the two digits of the path, so any number of ranks will do.
// Rounds: 2, each of √p messages; more rounds if that exceeds `in_flight` messages.
// Bytes: 48 for each notice, and twice its data where they are small.
// Memory: a message for each peer, out and in: 2·√p, or what `in_flight` allows.
// Limits: none.
// Wins: dense patterns, where most ranks have data for most others.
#include "algorithms/sparse/routed.hpp"

namespace taquin::detail {

namespace {

int radix_of(int ranks, std::size_t in_flight) noexcept {
  int side = 2;
  while (std::int64_t{side} * side < ranks) ++side;
  return notice_router::radix_for(ranks, side, in_flight);
}

}  // namespace

extern const sparse_algorithm notify_grid;
const sparse_algorithm notify_grid{
    .name = "notify_grid",
    .summary = "headers in two rounds over a grid of ranks, with small data; other data on request",
    .source = "grids of processes; KaMPIng",
    .rounds = "2 + 2",
    .find = routed<radix_of>::find,
    .memory = routed<radix_of>::memory,
    .nanoseconds = routed<radix_of>::nanoseconds,
    .radix = radix_of};

}  // namespace taquin::detail
