#include "simulation/sparse_moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algorithms/nodes/shared_exchange.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/between_nodes.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "call/forwarded_blocks.hpp"
#include "node/channel.hpp"
#include "node/internode.hpp"
#include "simulation/sparse_drawing.hpp"

namespace taquin::detail {

namespace {

constexpr count_t mailbox_bytes = sizeof(mailbox);
constexpr count_t most_in_mailbox = mailbox::capacity;

using block_list = whole_moves::block_list;
using refusal = std::optional<std::string>;

// Of each algorithm of the list.
template <const sparse_algorithm& which>
refusal moves(sparse_drawing& d) = delete;

// Lines for all, and small data in the room; then each rank reads its part.
template <>
refusal moves<node_step_algorithm>(sparse_drawing& d) {
  if (d.pattern().nodes() != 1) return "it needs all ranks on one node";
  d.moves().all.through_memory = true;
  for (int rank = 0; rank < d.ranks(); ++rank) d.copy(rank, d.ranks() * mailbox_bytes, place::send, place::shared);
  d.each_block([&](int from, const sparse_block& b) {
    if (b.bytes > most_in_mailbox && b.bytes <= shared_exchange::most_in_payload)
      d.copy(from, b.bytes, place::send, place::shared);
  });
  d.own();
  d.synchronize();
  for (int rank = 0; rank < d.ranks(); ++rank) d.copy(rank, d.ranks() * mailbox_bytes, place::shared, place::recv);
  d.each_block([&](int from, const sparse_block& b) { d.send(from, b.to, b.bytes, {{from, b.to}}); });
  d.next();
  return std::nullopt;
}

// Small blocks are in the messages of the agreement; the others follow, by requests if they are many.
template <>
refusal moves<between_nodes_algorithm>(sparse_drawing& d) {
  const sparse_pattern& x = d.pattern();
  if (x.nodes() == 1) return "it needs several nodes";
  const bool by_step = step_suits(x);
  constexpr auto of_count = static_cast<count_t>(piggybacked_headers::of_count);
  constexpr auto header_bytes = static_cast<count_t>(piggybacked_headers::header_bytes);
  const auto space = static_cast<count_t>(by_step ? internode::most_bytes_of(x.ranks(), x.per_node)
                                                  : forwarded_blocks::most_bytes_of(x.ranks()));
  if (space < header_bytes) return "it has no room for notices of so many ranks";
  const count_t most = space - of_count;
  const auto piggybacked = [&](int, const sparse_block& b) {
    return b.bytes <= most ? sparse_drawing::in_step{of_count + b.bytes, true}
                           : sparse_drawing::in_step{header_bytes, false};
  };
  d.own();
  by_step ? d.step_among_nodes(piggybacked) : d.forward(piggybacked);
  bool few = as_size(x.ranks()) <= x.in_flight;
  for (const auto& mine : x.blocks) {
    count_t left = 0;
    for (const sparse_block& b : mine) left += b.bytes > most ? b.bytes : 0;
    few = few && as_size(left) <= piggybacked_headers::most_unsolicited;
  }
  if (!few) {
    d.requested_for(most);
    return std::nullopt;
  }
  d.stage(sparse_moves::move);
  d.each_block([&](int from, const sparse_block& b) {
    if (b.bytes > most) d.send(from, b.to, b.bytes, {{from, b.to}});
  });
  d.next();
  return std::nullopt;
}

// Ranks agree that all have their notices, and the data in them; the other data are requested.
void end_of_stages(sparse_drawing& d) {
  d.stage(sparse_moves::agree_again);
  d.disseminate(call::findings_bytes, 2);
  d.requested_for(most_with_header);
}

template <>
refusal moves<notify_tree>(sparse_drawing& d) {
  d.own();
  d.agree();
  d.route(notify_tree.radix(d.ranks(), d.pattern().in_flight));
  end_of_stages(d);
  return std::nullopt;
}

struct drawn {
  const sparse_algorithm* which;
  refusal (*moves)(sparse_drawing& d);
};
#define TAQUIN_SPARSE(NAME) drawn{&(NAME), moves<NAME>},
constexpr std::array all_drawn{
#include "algorithms/sparse/sparse.def"
};
#undef TAQUIN_SPARSE

}  // namespace

std::optional<std::string> add_sparse_moves(const sparse_algorithm& a, const sparse_pattern& x, sparse_moves& to) {
  sparse_drawing d(x, to);
  return std::ranges::find(all_drawn, &a, &drawn::which)->moves(d);
}

}  // namespace taquin::detail
