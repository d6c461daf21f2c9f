// notify_tree: notices and small data go to their destinations through other ranks, as the blocks of a Bruck exchange
// do.
//
// Source: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
//         1997; with lists of notices instead of blocks as sc_notify of libsc (C. Burstedde) has them.
// Rounds: log_r p of r − 1 messages each, r up to 8; more follow one by one where more leaves than a message holds.
// Bytes: 24 for each notice, and its data where they are small, in each round that it takes part in.
// Memory: a message for each that leaves or comes, whatever the ranks send: what passes through waits at its sender.
// Limits: none. At most as many messages as `in_flight` are on their way from a rank and to it, or log2 p.
// Wins: many ranks, small data.
#include "algorithms/sparse/routed.hpp"
#include "call/agree.hpp"

namespace taquin::detail {

namespace {

int radix_of(int ranks, std::size_t in_flight) noexcept {
  return notice_router::radix_for(ranks, agreement_radix(ranks), in_flight);
}

}  // namespace

extern const sparse_algorithm notify_tree;
const sparse_algorithm notify_tree{
    .name = "notify_tree",
    .summary = "headers in log rounds by way of other ranks, with small data; other data on request",
    .source = "Bruck et al.; sc_notify of libsc",
    .rounds = "⌈log_r p⌉ + 2",
    .find = routed<radix_of>::find,
    .memory = routed<radix_of>::memory,
    .nanoseconds = routed<radix_of>::nanoseconds,
    .radix = radix_of};

}  // namespace taquin::detail
