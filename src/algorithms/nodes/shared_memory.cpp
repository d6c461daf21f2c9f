// shared_memory: all ranks on one node exchange through memory that they share.
//
// Source:  single copy by the kernel and copies through a shared segment, as MPI libraries do for messages; here for a
//          whole exchange at once.
// Rounds:  1. Each rank writes a line for every other rank and its small blocks into memory that all have mapped, and
//          reads those of the others when they have come. Where the kernel does not permit single copy, large blocks
//          come in pieces, a round for each.
// Bytes:   a block of up to 16 KiB twice, through the shared memory, as far as that has room; others once, by the
//          receiver, out of the sender's buffer.
// Memory:  two halves of shared memory, each with a cache line for every other rank and room for small blocks.
// Limits:  all ranks on one node. In place only where all blocks fit into the room.
// Wins:    on one node, at every size.
#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/shared_exchange.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/owned_blocks.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "node/channel.hpp"
#include "schedule/executor.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// The exchange of a plan: counts and displacements may be given up by the caller, and the channel is the plan's own.
class shared_operation final : public operation {
 public:
  shared_operation(const exchange& x, channel&& c, std::size_t room, int ranks, std::pmr::memory_resource* memory)
      : send_(x.send, ranks, memory),
        recv_(x.recv, ranks, memory),
        x_(x),
        channel_(std::move(c)),
        run_(x_, channel_, room) {
    x_.send = send_.side();
    x_.recv = recv_.side();
  }

  void start() override {
    run_.reset();
    run_.post(1);
  }
  bool test() override {
    if (!run_.advance()) return false;
    run_.check();
    return true;
  }
  void wait() override {
    run_.finish();
    run_.check();
  }
  void account(statistics& s) const override { run_.account(s); }

 private:
  owned_blocks send_;
  owned_blocks recv_;
  exchange x_;
  channel channel_;
  shared_exchange run_;
};

// What goes through the room: in place everything, otherwise what fits.
std::size_t room_wanted(const shape& s) noexcept {
  const std::size_t lines = 64 * static_cast<std::size_t>(s.ranks);  // blocks begin at cache lines
  const auto all = static_cast<std::size_t>(s.max_rank_bytes) + lines;
  return s.in_place ? all : std::min(all, channel::default_room(s.ranks));
}

constexpr std::size_t page = 4096;

std::size_t bookkeeping(const shape& s) noexcept {
  return sizeof(shared_operation) + 2 * owned_blocks::bytes(static_cast<std::size_t>(s.ranks)) +
         channel::overhead(s.ranks) + page;
}

// With less memory than it would use, blocks go more ways.
std::size_t room_allowed(const shape& s) noexcept {
  const std::size_t least = bookkeeping(s);
  if (s.memory_limit == unlimited) return room_wanted(s);
  const std::size_t half = (s.memory_limit - std::min(s.memory_limit, least)) / 2;
  return std::min(room_wanted(s), half);
}

std::size_t least_room(const shape& s) noexcept {
  return s.in_place ? room_wanted(s) : std::min<std::size_t>(room_wanted(s), 64 * static_cast<std::size_t>(s.ranks));
}

bool supports(const shape& s) noexcept { return s.shared; }

std::size_t memory(const shape& s, const options&) noexcept { return bookkeeping(s) + 2 * least_room(s); }

operation_ptr prepare(const exchange& x, const context& c, memory_budget& budget) {
  shape s = *c.shape;
  s.memory_limit = c.memory;
  const std::size_t room = std::max(room_allowed(s), least_room(s));
  budget.charge(channel::overhead(s.ranks) + page + 2 * room);
  channel own = channel::make(c.comm->get(), room, true);
  if (own.empty())
    throw on_all_ranks(usage_error("ranks of this node cannot share memory", MPI_ERR_UNSUPPORTED_OPERATION));
  return make_operation<shared_operation>(budget, x, std::move(own), room, s.ranks, &budget);
}

// Everybody meets once; small blocks are copied twice, large ones once.
seconds cost(const shape& s, const options&, const machine_model& m) noexcept {
  const terms t(s, m);
  const double copies = t.mean_block() <= static_cast<double>(shared_exchange::most_in_room) ? 2 : 1;
  return t.round_on(0, 1, 0, 0) + copies * t.copies(t.ranks(), t.busiest());
}

}  // namespace

const algorithm shared_memory{
    .name = "shared_memory",
    .summary = "through memory that the ranks of one node share; large blocks are fetched by the receiver",
    .source = "single copy and shared segments",
    .rounds = "1",
    .supports = supports,
    .memory = memory,
    .cost = cost,
    .prepare = prepare,
};

}  // namespace taquin::detail
