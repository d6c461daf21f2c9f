// spread_out: nonblocking messages to rank+1, rank+2, … so that no two ranks begin with the same receiver.
//
// Source:  Communication Patterns and MPI Primitives, §4.7 (all-to-all by p − 1 permutations), unsynchronised.
// Rounds:  1, of p − 1 sends and receives, at most `in_flight` sends pending.
// Bytes:   each block once.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    large blocks; sparse exchanges, whose empty blocks cost nothing.
#include "algorithms/direct/spread_out.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "model/terms.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

schedule_size direct_size(const shape& s) noexcept {
  const auto p = as_size(s.ranks);
  return {s.kind == exchange::form::alltoallw ? 2 * p : 2, 2 * p, 2 * p, 0, 1};
}

void add_direct_round(schedule& s, const local_exchange& x, const options& o, count_t above) {
  const int window = std::min(in_flight_of(o), x.ranks);
  for (int distance = 1; distance < x.ranks; ++distance) {
    const int from = (x.rank - distance + x.ranks) % x.ranks;
    const int to = (x.rank + distance) % x.ranks;
    if (x.recv[from].bytes() > above) s.recv(from, s.recv_block(x, from));
    if (x.send[to].bytes() > above) s.send(to, s.send_block(x, to));
  }
  s.end_round(2 * static_cast<std::uint32_t>(window));
}

namespace {

schedule_size size_of(const shape& s) noexcept {
  schedule_size size = direct_size(s);
  size.copies = 1;
  ++size.rounds;
  return size;
}

std::size_t memory_of_spread_out(const shape& s, const options&) noexcept { return executor::footprint(size_of(s), 0); }

schedule build_spread_out(const local_exchange& x, const shape& shape, const options& o,
                          std::pmr::memory_resource* memory) {
  schedule s(memory, size_of(shape));
  s.ahead = true;
  s.add_types(x);
  // Small messages travel while the rank copies. In shared memory the receiver copies large ones, and a rank that
  // copies its own block meanwhile delays its peer. So that copy is made first (2 ranks, 128 KiB per pair: otherwise
  // 1.2 times the time).
  constexpr count_t most_eager = 4096;
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));
  if (x.send[x.rank].bytes() > most_eager) s.end_round();
  add_direct_round(s, x, o, 0);
  return s;
}

seconds cost_of_spread_out(const shape& s, const options&, const machine_model& m) noexcept {
  return terms(s, m).all_at_once();
}

// If all messages may be in flight concurrently.
bool spread_out_ends_by_itself(const shape& s, const options& o, std::size_t) noexcept {
  return o.in_flight == 0 || o.in_flight >= s.ranks;
}

}  // namespace

const algorithm spread_out{
    .name = "spread_out",
    .summary = "nonblocking messages to rank+1, rank+2, …, a limited number in flight",
    .source = "MPI primitives §4.7",
    .rounds = "1",
    .serves_inside = true,
    .memory = memory_of_spread_out,
    .cost = cost_of_spread_out,
    .ends_by_itself = spread_out_ends_by_itself,
    .build = build_spread_out,
};

}  // namespace taquin::detail
