#include "redistribute/footprint.hpp"

#include <algorithm>
#include <cstdint>

#include "base/in_flight.hpp"
#include "base/sizes.hpp"
#include "protocol/mpi_port.hpp"
#include "redistribute/check_map.hpp"
#include "redistribute/learn_sources.hpp"
#include "redistribute/pull_engine.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

namespace {
constexpr std::size_t chunk_bytes =
    std::size_t{160} * 1024;  // a message; small enough that the copied bytes stay in cache
constexpr slot most_scattered = 128;
constexpr std::uint32_t most_read = 64;
constexpr std::size_t frames = 6144;  // coroutines
}  // namespace

buffer_sizes redistribution_sizes(std::size_t block_bytes, std::size_t least_blocks, slot most_chunk) noexcept {
  const std::size_t l = std::max<std::size_t>(block_bytes, 1);
  const std::size_t m = least_blocks;
  const std::size_t bytes = std::min(chunk_bytes, 10 * l + 2 * m);
  buffer_sizes s;
  s.chunk = static_cast<slot>(std::clamp<std::size_t>(bytes / l, 1, 10 + m / 32));
  s.chunk = std::min(s.chunk, most_chunk);
  // The smaller the blocks, the longer it takes to request a buffer full of them. More buffers then keep the other
  // ranks busy.
  const auto more = static_cast<slot>(std::min<std::size_t>(std::min(4 * m / l, m / 8) / s.chunk, 18));
  s.receive_buffers = 6 + more;
  s.scatter_buffers = 2 + more / 2;
  s.send_buffers = 2;
  s.scattered = std::min<slot>(s.chunk, most_scattered);
  s.words =
      std::clamp<std::uint32_t>(std::min(static_cast<std::uint32_t>(std::min<std::size_t>(m / 64, 2048)), s.chunk), 16,
                                2048);  // a list of `chunk` blocks has no more
  s.read = std::max<slot>(s.chunk, std::min<std::uint32_t>(s.words, most_read));
  s.requests = s.per_peer = 16;
  s.edges = buffer_sizes::most_edges;
  s.actions = buffer_sizes::most_actions;
  return s;
}

buffer_sizes bounded(buffer_sizes s, int in_flight, int ranks) noexcept {
  const auto most = static_cast<std::uint32_t>(in_flight_bound(in_flight));
  const auto peers = static_cast<std::uint32_t>(std::max(ranks - 1, 1));
  s.requests = std::min(s.requests, most);
  s.per_peer = std::clamp(most / peers, 1U, s.requests);
  s.gated = peers > most;
  return s;
}

port_limits redistribution_limits(const buffer_sizes& s, int ranks) noexcept {
  return {.chunk = s.chunk,
          .send_buffers = s.send_buffers,
          .scattered = s.scattered,
          .words = s.words,
          .messages = s.requests,
          .transfers = 3 * static_cast<std::uint32_t>(ranks) + 2 * s.requests,
          .reserved = s.requests};
}

namespace {

table_sizes most_tables(const buffer_sizes& s, int ranks, std::size_t blocks) noexcept {
  return {.ranks = as_size(ranks), .blocks = blocks, .buffers = s};
}

// The temporary memory of phases, of which one is active at a time: exchange of the targets, the algorithm and those
// that it hands over to, the permutation. The first targets are kept beside those that a successor learns,
// whose blocks are sorted: they have no order, and are not read.
std::size_t for_a_while(const redistribution_algorithm& a, const table_sizes& t) noexcept {
  const std::size_t order = targets::order_bytes(t);
  std::size_t most = std::max({order + learn_sources_bytes(t), order + target_exchange::bytes(t), a.memory(t),
                               block_map::sort_bytes(t.slots(), t.ranks)});
  if (a.hands_over)
    most = std::max({most, find_redistribution("parking")->memory(t), targets::bytes(t) + pull_engine::bytes(t)});
  return most;
}

}  // namespace

std::size_t redistribution_footprint(const redistribution_algorithm& a, const buffer_sizes& s, int ranks,
                                     std::size_t blocks, std::size_t block_bytes) noexcept {
  const table_sizes t = most_tables(s, ranks, blocks);
  return s.staging_slots() * block_bytes + block_map::bytes(t.slots()) + targets::bytes(t) + for_a_while(a, t) +
         frames + sizeof(count_t) * t.ranks + mpi_port::footprint(redistribution_limits(s, ranks), block_bytes) +
         mpi_port::reduction_bytes(ranks);
}

std::size_t free_for_targets(const redistribution_algorithm& a, const buffer_sizes& s, int ranks,
                             std::size_t blocks) noexcept {
  const table_sizes t = most_tables(s, ranks, blocks);
  return for_a_while(a, t) - targets::order_bytes(t) - target_exchange::bytes(t) + mpi_port::reduction_bytes(ranks);
}

namespace {

constexpr std::size_t usual_part = 16384;  // smaller ones only if there is no other way

// Calls visit(parts) for each number of parts that blocks can have, until it returns true.
template <class Visit>
bool for_each_division(const redistribution_problem& p, Visit visit) {
  for (std::size_t n = 1; n == 1 || (p.block_bytes / n >= least_part && n * p.most_blocks <= as_size(most_blocks)); ++n)
    if (n == 1 || p.block_length % n == 0 || (!p.gaps && p.block_bytes % n == 0))
      if (visit(n)) return true;
  return false;
}

buffer_sizes sizes_for(const redistribution_problem& p, std::size_t parts, slot most_chunk) noexcept {
  return bounded(redistribution_sizes(p.block_bytes / parts, p.least_blocks * parts, most_chunk), p.in_flight, p.ranks);
}

// Messages of one block, so many buffers to receive them, and one to send; of `cyclic`, messages of one edge or action.
buffer_sizes few(const redistribution_problem& p, std::size_t parts, slot receive_buffers) noexcept {
  buffer_sizes s = sizes_for(p, parts, 1);
  s.receive_buffers = receive_buffers;
  s.scatter_buffers = receive_buffers / 2;
  s.send_buffers = 1;
  s.edges = s.actions = 1;
  return s;
}

std::size_t needed(const redistribution_problem& p, std::size_t parts, const buffer_sizes& s) noexcept {
  return redistribution_footprint(*p.algorithm, s, p.ranks, p.most_blocks * parts, p.block_bytes / parts);
}

}  // namespace

std::size_t least_memory(const redistribution_problem& p) noexcept {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for_each_division(p, [&](std::size_t parts) {
    least = std::min(least, needed(p, parts, few(p, parts, 1)));
    return false;
  });
  return least;
}

std::optional<buffer_choice> choose_buffers(const redistribution_problem& p, std::size_t memory) noexcept {
  const bool limited = memory != unlimited;
  const std::size_t for_buffers = default_buffers(p.most_blocks, p.block_bytes);
  buffer_choice c;
  const auto fits = [&](std::size_t parts, const buffer_sizes& s) {
    c = {s, parts};
    const std::size_t most =
        limited ? memory : redistribution_tables(as_size(p.ranks), p.most_blocks * parts) + for_buffers;
    return needed(p, parts, s) <= most;
  };
  const bool found = for_each_division(p,
                                       [&](std::size_t parts) {
                                         if (parts > 1 && p.block_bytes / parts < usual_part) return false;
                                         if (!fits(parts, sizes_for(p, parts, 1))) return false;
                                         slot chunk = std::numeric_limits<slot>::max();
                                         while (!fits(parts, sizes_for(p, parts, chunk)))
                                           chunk = c.sizes.chunk - std::max<slot>(c.sizes.chunk / 16, 1);
                                         return true;
                                       }) ||
                     for_each_division(p, [&](std::size_t parts) { return fits(parts, few(p, parts, 3)); }) ||
                     for_each_division(p, [&](std::size_t parts) { return fits(parts, few(p, parts, 1)); });
  if (found) return c;
  if (limited) return std::nullopt;
  return buffer_choice{few(p, 1, 1), 1};  // blocks that cannot be divided
}

std::size_t usual_memory(const redistribution_problem& p) noexcept {
  const buffer_choice c = choose_buffers(p, unlimited).value_or(buffer_choice{});
  return needed(p, c.parts, c.sizes);
}

buffer_sizes without_blocks(const buffer_choice& c, const redistribution_problem& p) noexcept {
  buffer_sizes s = bounded(redistribution_sizes(p.block_bytes / c.parts, 0, c.sizes.chunk), p.in_flight, p.ranks);
  s.receive_buffers = std::min(s.receive_buffers, c.sizes.receive_buffers);
  s.scatter_buffers = std::min(s.scatter_buffers, c.sizes.scatter_buffers);
  s.send_buffers = std::min(s.send_buffers, c.sizes.send_buffers);
  s.edges = c.sizes.edges;
  s.actions = c.sizes.actions;
  return s;
}

}  // namespace taquin::detail
