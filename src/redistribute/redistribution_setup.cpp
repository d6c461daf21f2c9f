// How a redistribution is made: its ranks agree on sizes, limits and buffers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "base/collective_error.hpp"
#include "mpi/collectives.hpp"
#include "redistribute/redistribution_state.hpp"

namespace taquin {

void redistribution::state::begin(const arguments& x, const redistribute_options&, bool lacks_memory) {
  forget_map();
  running.set_up(x.comm);
  running.stage([&] {
    const element e = describe(x, lacks_memory);
    proposed.algorithm = options.algorithm;
    const agreed all = running.agree(proposed, &budget);
    if (!all.uniform)
      throw_on_all_ranks([&] { return usage_error("ranks disagree on the bytes of a block", MPI_ERR_ARG); });
    prepare(x, e, all);
  });
}

// This rank's contribution to the agreement.
element redistribution::state::describe(const arguments& x, bool lacks_memory) {
  proposal& p = proposed;
  p.invalid =
      lacks_memory ? out_of_memory() : check_arguments(x.data, x.blocks, x.length, x.type, options, x.invalid_text);
  const element e = p.invalid ? element{} : element::of(x.type);
  if (!p.invalid && !(checked(x.blocks) * x.length * std::max(e.size, e.extent)).fits())
    p.invalid = invalid_argument{fmt::format("{} blocks of {} elements make more than 2^56 bytes", x.blocks, x.length),
                                 MPI_ERR_COUNT};
  p.choices = choices_of(options);
  p.memory = options.memory;
  p.gaps = !p.invalid && !e.contiguous();
  p.max_block_bytes = p.min_block_bytes = p.invalid ? 0 : static_cast<std::uint64_t>(x.length * e.size);
  return e;
}

// How many blocks each rank has, and whether others can read them in their places; the problem that follows. If the
// limit is too small for that, only the problem.
redistribution_problem redistribution::state::report_blocks(const arguments& x, const element& e, const agreed& all) {
  mpi::communicator& comm = *running.comm();
  const auto ranks = detail::as_size(comm.size());
  redistribution_problem p{.algorithm = chosen,
                           .ranks = comm.size(),
                           .in_flight = options.in_flight,
                           .block_bytes = all.max_block_bytes,
                           .block_length = detail::as_size(x.length),
                           .gaps = all.gaps};
  if (ranks * sizeof(count_t) > all.memory) {
    const auto mine = static_cast<std::uint64_t>(x.blocks);
    std::array<std::uint64_t, 2> both{mine, mine > 0 ? ~mine : 0};
    mpi::allreduce(std::span<std::uint64_t>(both), MPI_MAX, comm.get());
    p.most_blocks = both[0];
    p.least_blocks = both[1] > 0 ? ~both[1] : 0;
    return p;
  }
  blocks.emplace(ranks, 0, &budget);
  if (detail::internode::joins_nodes(comm)) nodes = nodes_of(comm, {});
  const channel* const node = running.node();
  const bool copies = node != nullptr ? node->single_copies() : nodes != nullptr && channel_of_node(*nodes) != nullptr;
  const bool readable = copies && all.max_block_bytes >= block_reader::least_bytes && (e.contiguous() || x.blocks == 0);
  const count_t reported = readable ? x.blocks : ~x.blocks;  // complemented: they cannot be read
  mpi::allgather(reported, std::span(*blocks), comm.get());
  readers = who_reads(*blocks, nodes.get(), comm.rank());
  for (count_t& b : *blocks) {
    if (b < 0) b = ~b;
    const auto n = detail::as_size(b);
    if (n > 0) p.least_blocks = p.least_blocks == 0 ? n : std::min(p.least_blocks, n);
    p.most_blocks = std::max(p.most_blocks, n);
  }
  return p;
}

void redistribution::state::prepare(const arguments& x, const element& e, const agreed& all) {
  mpi::communicator& comm = *running.comm();
  chosen = find_redistribution(options.algorithm);
  options.algorithm = options.algorithm == "auto" ? "auto" : chosen->name;  // for repair(): the caller's may be freed
  running.algorithm = chosen->name;
  length = x.length;
  type = x.type;
  const redistribution_problem problem = report_blocks(x, e, all);
  const auto choice = choose_buffers(problem, all.memory);
  if (!choice) {
    std::size_t usual = usual_memory(problem);
    if (const channel* const node = running.node())
      usual += node_steps::shared_bytes(problem.most_blocks, problem.block_bytes, *node);
    throw_memory_needed("a redistribution", least_memory(problem), usual, all.memory);
  }
  const int tag = tags.take(comm);
  sizes = choice->sizes;
  parts = static_cast<count_t>(choice->parts);
  for (count_t& b : *blocks) b *= parts;
  const std::size_t bytes = all.max_block_bytes / choice->parts;
  steps = {.blocks = *blocks,
           .block_bytes = bytes,
           .number = static_cast<std::uint32_t>(tag),
           .staging = sizes.staging_slots() - 1,
           .readable = readers.has_value(),
           .check = options.check};
  const bool free_choice = parts == 1 && options.algorithm == "auto";
  by_steps = free_choice && running.node() != nullptr && node_steps::suit(steps, *running.node());
  pushes = free_choice && running.node() == nullptr && pushed_blocks::suit(*blocks, sizes);
  memory_for_targets = free_for_targets(*chosen, sizes, comm.size(), problem.least_blocks * choice->parts);
  const buffer_sizes without = without_blocks(*choice, problem);
  if (std::ranges::find(*blocks, 0) != blocks->end())
    memory_for_targets = std::min(memory_for_targets, free_for_targets(*chosen, without, comm.size(), 0));
  finds_targets =
      !pushes && target_exchange::suits(comm, running.node(), problem.most_blocks * choice->parts, memory_for_targets);
  if (x.blocks == 0) sizes = without;
  const bool by_elements = x.length % parts == 0;  // otherwise in bytes: no rank has gaps
  units.emplace(x.data, x.blocks * parts, by_elements ? x.length / parts : 1,
                by_elements ? e : element::bytes(static_cast<count_t>(bytes)), sizes.staging_slots(), &budget);
  net.emplace(comm, tag, *units, redistribution_limits(sizes, comm.size()), &budget);
  if (readers) net->let_read(*readers);
  if (nodes != nullptr) net->let_arrive(rank_group::of(nodes->topology.nodes(), comm.rank()));
}

}  // namespace taquin
