#include "workloads/shapes.hpp"

#include <algorithm>
#include <vector>

#include "base/sizes.hpp"

namespace taquin::workloads {

namespace {

std::uint64_t unsigned_of(count_t n) { return static_cast<std::uint64_t>(n); }

}  // namespace

exchange::form form_of(call_kind kind) {
  switch (kind) {
    case call_kind::alltoall:
      return exchange::form::alltoall;
    case call_kind::alltoallv:
    case call_kind::neighbor_alltoall:
    case call_kind::neighbor_alltoallv:
    case call_kind::sparse:
      return exchange::form::alltoallv;
    case call_kind::alltoallw:
    case call_kind::neighbor_alltoallw:
      break;
  }
  return exchange::form::alltoallw;
}

detail::shape shape_of(const traffic& t, const recorded_call& call) {
  const auto& m = t.matrices[call.matrix];
  detail::shape s{.ranks = m.ranks(),
                  .kind = form_of(call.kind),
                  .in_place = call.in_place,
                  .shared = true,
                  .one_unit = call.in_place,
                  .unit_size = call.in_place ? unsigned_of(call.element_bytes) : 0,
                  .nodes = 1,
                  .largest_node = m.ranks(),
                  .smallest_node = m.ranks()};
  struct side {
    count_t bytes = 0;
    int peers = 0;
  };
  const auto ranks = detail::as_size(m.ranks());
  std::vector<side> senders(ranks);
  std::vector<side> receivers(ranks);
  std::uint64_t least = m.flows().size() == ranks * ranks ? unsigned_of(m.flows().front().bytes) : 0;
  for (const auto& f : m.flows()) {
    s.max_block_bytes = std::max(s.max_block_bytes, unsigned_of(f.bytes));
    least = std::min(least, unsigned_of(f.bytes));
    for (side* one : {&senders[detail::as_size(f.from)], &receivers[detail::as_size(f.to)]}) {
      one->bytes += f.bytes;
      ++one->peers;
    }
  }
  s.min_block_bytes = least;
  s.uniform = least == s.max_block_bytes;
  for (std::size_t i = 0; i < ranks; ++i) {
    s.max_peers = std::max({s.max_peers, senders[i].peers, receivers[i].peers});
    s.max_rank_bytes = std::max(s.max_rank_bytes, unsigned_of(senders[i].bytes));
    s.max_received_bytes = std::max(s.max_received_bytes, unsigned_of(receivers[i].bytes));
  }
  return s;
}

}  // namespace taquin::workloads
