#include "algorithms/in_place/in_place_phases_operation.hpp"

#include <algorithm>
#include <limits>

#include "algorithms/in_place/units.hpp"
#include "base/sizes.hpp"
#include "mpi/big_count.hpp"

namespace taquin::detail {

namespace {

using requests = in_place_phases_protocol::requests;

requests how(const options& o) noexcept {
  return o.in_place_phases.sparse_requests ? requests::sparse : requests::dense;
}

// Fewer peers per part need more phases than one part for all, in simulations of 8 to 64 ranks with 1% of the data.
constexpr int peers_per_part = 16;

int parts_of(const shape& s, const options& o) noexcept {
  if (o.in_place_phases.aux_heap) return 1;
  const int requested =
      o.in_place_phases.aux_parts > 0 ? o.in_place_phases.aux_parts : std::max(s.max_peers / peers_per_part, 1);
  // A part has a unit at least: more parts than units that any rank receives are of no use.
  const std::uint64_t units = s.max_received_bytes / std::max<std::uint64_t>(s.unit_size, 1);
  return static_cast<int>(std::clamp<std::uint64_t>(units, 1, static_cast<std::uint64_t>(requested)));
}

// Dense requests are an exchange of their own, in log p rounds. Not the MPI library's nonblocking collective: plans
// that are started together reach their later phases in another order on each rank, and collectives must be called in
// the same one.
const algorithm& dense_exchange = modified_bruck;
const options dense_options{};

shape dense_shape(int ranks) noexcept {
  constexpr std::size_t bytes = in_place_phases_protocol::request_words * sizeof(word);
  const std::uint64_t all = static_cast<std::uint64_t>(ranks) * bytes;
  return {.ranks = ranks,
          .max_block_bytes = bytes,
          .min_block_bytes = bytes,
          .max_rank_bytes = all,
          .max_received_bytes = all};
}

}  // namespace

seconds in_place_phases_operation::dense_cost(int ranks, const machine_model& m) noexcept {
  return dense_exchange.cost(dense_shape(ranks), dense_options, m);
}

// Everything but the auxiliary memory, for the rank with the most peers.
std::size_t in_place_phases_operation::least(const shape& s, const options& o) noexcept {
  const auto peers = as_size(s.max_peers);
  const phase_limits l{.parts = parts_of(s, o), .heap = o.in_place_phases.aux_heap};
  const std::size_t dense =
      o.in_place_phases.sparse_requests ? 0 : dense_exchange.memory(dense_shape(s.ranks), dense_options);
  return sizeof(in_place_phases_operation) + in_place_phases_machine::bytes(l, peers, peers) +
         2 * peers * sizeof(peer_block) + in_place_phases_protocol::bytes(s.ranks, peers, peers, how(o)) +
         mpi_port::footprint(in_place_phases_protocol::limits(peers, peers, how(o)), 0) + frame_memory::most + dense +
         as_size(l.parts) * std::max<std::size_t>(s.unit_span, 1);
}

phase_limits in_place_phases_operation::limits(const exchange& x, const context& c, std::size_t allowed) noexcept {
  const element unit = unit_of(x, *c.shape);
  phase_limits l{.parts = parts_of(*c.shape, *c.opts), .heap = c.opts->in_place_phases.aux_heap};
  const std::size_t least_aux = as_size(l.parts) * std::max<std::size_t>(c.shape->unit_span, 1);
  const count_t space = fitting(unit, allowed - least(*c.shape, *c.opts) + least_aux);
  const count_t useful = l.heap ? total_units(x.recv, c.shape->ranks, unit) : space;
  l.aux = std::clamp<count_t>(useful, l.parts, space);
  l.most = std::min<count_t>(mpi::count_limit(), std::numeric_limits<int>::max() / unit.size);
  return l;
}

in_place_phases_operation::in_place_phases_operation(const exchange& x, const context& c, std::size_t allowed,
                                                     memory_budget& budget)
    : mpi_operation(&budget),
      limits_(limits(x, c, allowed)),
      out_(collect(x.send, c.shape->ranks, unit_of(x, *c.shape), &budget)),
      in_(collect_by_location(x.recv, c.shape->ranks, unit_of(x, *c.shape), &budget)),
      machine_(out_, in_, limits_, &budget),
      units_(x.recv.base, machine_.border(), 1, unit_of(x, *c.shape), limits_.aux, &budget),
      net_(*c.comm, c.tag, units_, in_place_phases_protocol::limits(out_.size(), in_.size(), how(*c.opts)), &budget),
      protocol_(c.comm->rank(), c.comm->size(), how(*c.opts), out_, in_, machine_, units_, net_, frame(), &budget) {
  prepare();
  if (c.opts->in_place_phases.sparse_requests) return;
  constexpr int words = in_place_phases_protocol::request_words;
  const shape dense = dense_shape(c.shape->ranks);
  const exchange requests = exchange::alltoall(protocol_.requested().data(), words, MPI_UINT32_T,
                                               protocol_.granted().data(), words, MPI_UINT32_T, c.comm->get());
  dense_ = prepare_operation(dense_exchange, requests,
                             {.comm = c.comm,
                              .tag = c.tag + mpi_port::first_free_tag,
                              .shape = &dense,
                              .opts = &dense_options,
                              .reused = true},
                             budget);
  net_.exchange_by(dense_.get());
}

void in_place_phases_operation::account(statistics& s) const {
  const statistics& last = protocol_.last();
  s.rounds += last.rounds;
  s.messages += net_.messages();
  s.bytes_sent += net_.bytes_sent();
  s.bytes_copied += units_.bytes_copied();
  s.in_place_phases.requests += last.in_place_phases.requests;
  s.in_place_phases.data += last.in_place_phases.data;
  s.in_place_phases.update += last.in_place_phases.update;
}

}  // namespace taquin::detail
