// shared_memory: all ranks on one node exchange through memory that they share.
//
// Source:  single copy by the kernel and copies through a shared segment, as MPI libraries do for messages; here for a
//          whole exchange.
// Rounds:  1. Each rank writes a mailbox for every other rank and its small blocks into memory that all have mapped,
//          and reads those of the others after their arrival. Where the kernel does not permit single copy, large
//          blocks are sent in chunks, a round for each.
// Bytes:   a block of up to 16 KiB (8 KiB where every rank has a core) twice, through the shared memory, as far as
//          that has room; others once, by the receiver, out of the sender's buffer. In a plan a sender whose receiver
//          does not claim its block moves it into the shared memory; where blocks cannot be copied once, those of up to
//          64 KiB pass through it.
// Memory:  double buffers of shared memory, each with a cache line for every other rank and room for small blocks.
// Limits:  all ranks on one node. In place only where all blocks fit into the payload area.
// Wins:    on one node, at every size.
#include "algorithms/nodes/shared_memory.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/shared_exchange.hpp"
#include "base/memory_charge.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/owned_blocks.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "node/blocking_channel.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {

// A plan keeps its own counts and displacements, because its caller may free theirs. A plan has a channel of its own;
// blocking calls, which follow one another, use their communicator's.
class shared_operation final : public operation {
 public:
  shared_operation(const exchange& x, memory_charge&& share, channel&& own, channel* lent, std::size_t payload,
                   count_t most_in_payload, bool offers, int ranks, std::pmr::memory_resource* memory)
      : share_(std::move(share)),
        send_(x.send, ranks, memory),
        recv_(x.recv, ranks, memory),
        x_(with_sides(x, send_.side(), recv_.side())),
        own_(std::move(own)),
        run_(x_, used(lent), payload, most_in_payload, offers) {}

  void start() override {
    run_.reset();
    run_.post(1);
  }
  bool test() override {
    if (!run_.advance()) return false;
    if (run_.failed()) std::rethrow_exception(run_.error_at_end());
    return true;
  }
  void wait() override {
    run_.finish();
    if (run_.failed()) std::rethrow_exception(run_.error_at_end());
  }
  void account(statistics& s) const override { run_.account(s); }

 private:
  [[nodiscard]] channel& used(channel* lent) noexcept { return lent != nullptr ? *lent : own_; }
  static exchange with_sides(exchange x, const blocks& send, const blocks& recv) noexcept {
    x.send = send;
    x.recv = recv;
    return x;
  }

  memory_charge share_;  // first: the channel's memory is returned before
  owned_blocks send_;
  owned_blocks recv_;
  exchange x_;
  channel own_;
  shared_exchange run_;
};

constexpr std::size_t most_plan_payload = std::size_t{4} << 20U;

// A receiver may copy blocks out of the sender's buffer.
bool can_offer(const shape& s) noexcept { return s.single_copies && !s.gaps && !s.in_place; }

// Blocks of a plan with which the sender completes without its readers, where there is room for them.
std::uint64_t longest_of_plan(const shape& s) noexcept {
  return static_cast<std::uint64_t>(can_offer(s) ? shared_exchange::most_offered
                                                 : shared_exchange::most_in_payload_of_plan);
}

// Bytes through the payload area: in place all blocks, otherwise those that fit. A plan whose blocks may all pass
// through it gets a larger payload area, because it then waits for no reader.
std::size_t payload_wanted(const shape& s, bool reused) noexcept {
  const std::size_t lines = cache_line * as_size(s.ranks);  // blocks begin at cache lines
  const auto all = as_size(s.max_rank_bytes) + lines;
  if (s.in_place) return all;
  const bool whole = reused && s.max_block_bytes <= longest_of_plan(s);
  return std::min(all, whole ? most_plan_payload : channel::default_payload_bytes(s.ranks));
}

std::size_t bookkeeping(const shape& s) noexcept {
  return sizeof(shared_operation) + 2 * owned_blocks::bytes(as_size(s.ranks)) + channel::bookkeeping(s.ranks);
}

std::size_t with_payload(const shape& s, std::size_t payload) noexcept {
  return bookkeeping(s) + channel::share(s.ranks, payload);
}

// With less memory than it would use, fewer blocks pass through the payload area.
std::size_t least_payload(const shape& s) noexcept {
  const std::size_t wanted = payload_wanted(s, false);
  return s.in_place ? wanted : std::min<std::size_t>(wanted, cache_line * as_size(s.ranks));
}

}  // namespace

std::size_t payload_allowed(const shape& s, bool reused) noexcept {
  const std::size_t wanted = payload_wanted(s, reused);
  if (s.memory_limit == unlimited || with_payload(s, wanted) <= s.memory_limit) return wanted;
  const std::size_t least = with_payload(s, 0);
  return std::max(least_payload(s), (s.memory_limit - std::min(s.memory_limit, least)) / 2 / page * page);
}

namespace {

// Where each block has a place in the payload area, so that senders need not wait.
bool shared_memory_ends_by_itself(const shape& given, const options&, std::size_t limit) noexcept {
  shape s = given;
  s.memory_limit = limit;
  const auto lines = 64 * static_cast<std::uint64_t>(s.ranks);
  return s.in_place ||
         (s.max_block_bytes <= longest_of_plan(s) && s.max_rank_bytes + lines <= payload_allowed(s, true));
}

// Where ranks are oversubscribed, two copies of so few bytes take no longer than waiting for receivers.
bool better_through_payload(const shape& s, const channel& c) noexcept {
  constexpr std::uint64_t most_on_average = 32768;
  return c.oversubscribed() && s.max_block_bytes <= std::uint64_t{shared_exchange::most_in_payload_of_plan} &&
         s.max_rank_bytes <= most_on_average * static_cast<std::uint64_t>(s.ranks);
}

// Blocks of up to this size are not offered.
count_t most_in_payload(const shape& s, const channel& c, bool reused, bool offers) noexcept {
  const bool all = reused && (!offers || better_through_payload(s, c));
  return all ? shared_exchange::most_in_payload_of_plan : shared_exchange::most_of(c);
}

bool shared_memory_supports(const shape& s) noexcept { return s.shared; }

std::size_t memory_of_shared_memory(const shape& s, const options&) noexcept {
  return with_payload(s, least_payload(s));
}

operation_ptr prepare_shared_memory(const exchange& x, const context& c, memory_budget& budget) {
  shape s = *c.shape;
  s.memory_limit = c.memory;
  const std::size_t payload = payload_allowed(s, c.reused);
  memory_charge share(budget, channel::share(s.ranks, payload));
  channel* lent = c.reused ? nullptr : blocking_channel(x.comm);
  if (lent != nullptr && lent->payload_bytes() < payload) lent = nullptr;
  channel own;
  if (lent == nullptr) own = channel::make(c.comm->get(), payload, true, &budget);
  if (lent == nullptr && own.empty()) return {};
  const channel& used = lent != nullptr ? *lent : own;
  const bool offers = c.reused && can_offer(s) && shared_memory_ends_by_itself(s, {}, c.memory);
  const count_t most = most_in_payload(s, used, c.reused, offers);
  return make_operation<shared_operation>(budget, x, std::move(share), std::move(own), lent, payload, most, offers,
                                          s.ranks, &budget);
}

seconds cost_of_shared_memory(const shape& s, const options&, const machine_model& m) noexcept {
  return terms(s, m).through_memory();
}

// A communicator's calls use its channel, which exists. Where its payload area is too small for an exchange in place
// they make another one, whose pages are new. Measured.
seconds shared_memory_preparation(const shape& s, const options&, const machine_model& m, bool reused) noexcept {
  constexpr seconds made = 60e-6;
  constexpr seconds touched_byte = 0.9e-9;
  const std::size_t payload = payload_wanted(s, false);
  if (reused || payload <= channel::default_payload_bytes(s.ranks)) return 0;
  return made + touched_byte * static_cast<double>(payload) * m.ranks_per_core;
}

}  // namespace

const algorithm shared_memory{
    .name = "shared_memory",
    .summary = "through memory that the ranks of one node share; large blocks are fetched by the receiver",
    .source = "single copy and shared segments",
    .rounds = "1",
    .supports = shared_memory_supports,
    .memory = memory_of_shared_memory,
    .cost = cost_of_shared_memory,
    .preparation = shared_memory_preparation,
    .ends_by_itself = shared_memory_ends_by_itself,
    .prepare = prepare_shared_memory,
};

}  // namespace taquin::detail
