#include "layouts/grouped_exchange.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/in_place/in_place_operation.hpp"
#include "exchange/shape.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t alignment = 128;  // of what a grouping allocates

constexpr std::size_t plan_slack = 4096;  // the most that a plan takes beside its operation

// The least memory of the exchange: of bytes, among all ranks.
std::size_t least_of_exchange(std::size_t ranks) {
  shape s;
  s.in_place = true;
  s.ranks = s.max_peers = static_cast<int>(ranks);
  s.unit_span = s.unit_size = 1;
  return in_place_operation::least(s) + plan_slack;
}

// The bytes of this rank's runs, and where they begin in its array, position by position of the other grid.
void count(const owner_runs& runs, const layout& theirs, numbers_of_ranks& n) {
  runs.forward([&](std::size_t position, std::size_t bytes) {
    n.counts[as_size(layout_access::rank_at(theirs, position))] += static_cast<count_t>(bytes);
  });
  count_t at = 0;
  for (std::size_t position = 0; position < as_size(theirs.processes()); ++position) {
    const auto rank = as_size(layout_access::rank_at(theirs, position));
    n.first[rank] = at;
    at += n.counts[rank];
  }
}

// The greatest common divisor of the indices at which a dimension is cut, and of `extent`.
count_t common_divisor(const dimension& d, count_t extent) {
  if (d.processes == 1) return extent;
  if (d.block > 0) return std::gcd(extent, d.block);
  count_t end = 0;
  for (int p = 0; p + 1 < d.processes; ++p) {
    end += d.owned(p);
    extent = std::gcd(extent, end);
  }
  return extent;
}

}  // namespace

std::size_t common_run(const layout& from, const layout& to, const layout_options& o) {
  std::size_t elements = 1;  // of the axes that neither cuts
  for (std::size_t k = from.dimensions().size(); k-- > 0;) {
    const auto d = as_size(layout_access::axis(from, k));
    const count_t extent = from.dimensions()[d].extent;
    const count_t divisor = common_divisor(to.dimensions()[o.axes.empty() ? d : as_size(o.axes[d])],
                                           common_divisor(from.dimensions()[d], extent));
    elements *= as_size(divisor);
    if (divisor != extent) break;
  }
  return elements;
}

std::size_t grouped_sizes::left_of(std::size_t space, std::size_t ranks) {
  return space - std::min(space, least_of_exchange(ranks) + 2 * numbers_of_ranks::bytes(ranks));
}

grouped_sizes grouped_sizes::within(std::size_t space, std::size_t streams, std::size_t most, std::size_t ranks,
                                    std::size_t run, std::size_t scratch) {
  grouped_sizes s{.streams = streams, .exchange = least_of_exchange(ranks)};
  // The exchange has a half of what is left.
  const std::size_t share = left_of(space, ranks) / 2;
  s.page = grouping::page_for(streams, most, share);
  const std::size_t whole = grouping::whole_page_for(streams, most, share, run);
  s.whole = whole > 0 &&
            grouping::bytes(streams, whole, most, true) <= std::max(share, grouping::bytes(streams, s.page, most));
  if (s.whole) s.page = whole;
  s.scratch = std::max(grouping::bytes(streams, s.page, most, s.whole) + alignment, scratch);
  if (s.bytes(ranks) < space) s.exchange += std::min(space - s.bytes(ranks), most / 4);
  return s;
}

std::size_t grouped_sizes::bytes(std::size_t ranks) const noexcept {
  return scratch + 2 * numbers_of_ranks::bytes(ranks) + exchange;
}

void grouped_exchange::join(std::byte* data, MPI_Comm comm) {
  count(move_.outgoing, move_.to, out_);
  count(move_.incoming, move_.from, in_);
  const auto view = [](const std::pmr::vector<count_t>& list) { return count_view(list.data()); };
  taquin::options o;
  o.algorithm = "in_place";
  o.memory = sizes_.exchange;
  o.timeout = move_.options.timeout;
  o.on_timeout = move_.options.on_timeout;
  o.in_flight = move_.options.in_flight;
  o.progress = move_.options.progress;
  o.stats = &moved_;
  plan_.emplace(exchange::alltoallv_in_place(data, view(out_.counts), view(out_.first), view(in_.counts),
                                             view(in_.first), MPI_BYTE, comm),
                o);
}

template <class F>
void grouped_exchange::with_groups(std::size_t streams, F f) const {
  std::pmr::monotonic_buffer_resource memory(scratch_.data(), scratch_.size(), std::pmr::null_memory_resource());
  grouping g(streams, sizes_.page, move_.most, &memory, sizes_.whole);
  f(g);
}

void grouped_exchange::start(std::byte* data) {
  moved_ = {};
  with_groups(as_size(move_.to.processes()), [&](grouping& g) {
    g.group(
        data, [&](auto f) { move_.outgoing.forward(f); }, grouping::put_together);
  });
  plan_->start();
}

failure::block_map grouped_exchange::standing() const {
  using failure::state;
  failure::block_map map{.known = true, .unit_bytes = 1};
  for (std::size_t rank = 0; rank < move_.ranks; ++rank) {
    const int peer = static_cast<int>(rank);
    if (const count_t n = out_.counts[rank]; n > 0)
      map.outgoing.push_back({state::stands, peer, 0, n, out_.first[rank]});
    if (const count_t n = in_.counts[rank]; n > 0) map.incoming.push_back({state::missing, peer, 0, n, -1});
  }
  return map;
}

void grouped_exchange::finish(std::byte* data) {
  with_groups(as_size(move_.from.processes()), [&](grouping& g) {
    g.scatter(
        data, [&](auto f) { move_.incoming.forward(f); }, [&](auto f) { move_.incoming.backward(f); });
  });
}

}  // namespace taquin::detail
