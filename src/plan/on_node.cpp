#include "plan/on_node.hpp"

#include <algorithm>
#include <memory_resource>
#include <new>
#include <optional>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/shared_exchange.hpp"
#include "base/environment.hpp"
#include "base/inline_pool.hpp"
#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "exchange/shape.hpp"
#include "exchange/validate.hpp"
#include "mpi/deadline.hpp"
#include "node/blocking_channel.hpp"
#include "node/call_deadline.hpp"
#include "node/detect.hpp"
#include "plan/plain_call.hpp"
#include "plan/plan_state.hpp"
#include "select/choose.hpp"

namespace taquin::detail {

namespace {

// Why this rank brings no blocks, as far as its options determine it; null: it may bring them.
const char* without_blocks(const exchange& x, const options& o) {
  if (!plain_environment() || !plain(o)) return "an option says how the exchange is done";
  if (invalid_exchange::of(x) != nullptr) return "an invalid argument";
  if (by_name(o) && o.memory != unlimited)
    return "a named algorithm gets the memory that it states, or all ranks refuse";
  return nullptr;
}

// The result of the agreement if all ranks had the sizes of this one.
shape shape_of_rank(const exchange& x, const channel& node) {
  shape s{.ranks = node.size(),
          .kind = x.kind,
          .in_place = x.in_place,
          .symmetric = x.symmetric,
          .shared = true,
          .single_copies = node.single_copies(),
          .min_block_bytes = unlimited};
  for (int peer = 0; peer < s.ranks; ++peer) {
    const auto sent = static_cast<std::uint64_t>(x.send.bytes(peer));
    s.max_block_bytes = std::max(s.max_block_bytes, sent);
    s.min_block_bytes = std::min(s.min_block_bytes, sent);
    s.max_rank_bytes += sent;
    s.max_received_bytes += static_cast<std::uint64_t>(x.recv.bytes(peer));
  }
  s.uniform = s.max_block_bytes == s.min_block_bytes;
  return s;
}

// Why the profile does not leave the exchange to the step; nothing where it does. It is read by the first call that
// continues as a plan.
step_result requested_of_profile(const exchange& x, const options& o, const channel& node) {
  static const bool none = environment::get().profile.empty();
  if (none || by_name(o)) return {};
  const mpi::communicator* const comm = mpi::communicator::find(x.comm);
  chooser* const choices = comm == nullptr ? nullptr : chooser::find(*comm);
  if (choices == nullptr) return {.continues_because = "the profile is not read yet", .fits = true};
  if (!choices->known().given || choices->uses_step(shared_memory, shape_of_rank(x, node), o)) return {};
  return {"the profile names another algorithm"};
}

// With types known.
step_result exchange_on_node(const exchange& x, const options& o, channel& node, memory_budget& budget) {
  if (validate(x, node.size(), &budget)) return {"an invalid argument"};
  if (x.kind == exchange::form::alltoall && !x.in_place && x.send.bytes(0) != x.recv.bytes(0))
    return {"alltoall sends and receives blocks of different sizes"};
  shared_exchange e(x, node, o.memory - std::min(o.memory, budget.used()));
  if (!e.possible()) return {"the blocks do not fit"};
  if (step_result elsewhere = requested_of_profile(x, o, node); elsewhere.continues_because != nullptr)
    return elsewhere;
  e.post(choices_of(x, by_name(o)));
  node.wait_for_mailboxes();
  if (!e.agreed()) return {.continues_because = "another rank brings other choices, or no blocks", .fits = true};
  e.finish_after_mailboxes();
  if (o.stats != nullptr) {
    ++o.stats->starts;
    e.account(*o.stats);
    o.stats->peak_memory = std::max({o.stats->peak_memory, budget.peak(), budget.used() + e.payload_used()});
    o.stats->algorithm = shared_memory.name;
  }
  return {nullptr, e.failed() ? e.error_at_end() : nullptr};
}

}  // namespace

step_result run_step_on_node(const exchange& x, const options& o, channel& node) {
  const std::uint64_t number = mpi::count_call(*node.calls());
  if (const char* const why = without_blocks(x, o)) return {why};
  const mpi::in_call here(node.calls(), call_word_of(x));
  std::optional<call_deadline> watching;
  if (const call_timeout timeout = call_timeout::of(o); timeout.seconds > 0) [[unlikely]] {
    mpi::communicator* const state = mpi::communicator::find(x.comm);
    if (!state->kept.has(peer_records::kept_as)) share_calls(x.comm, *state);
    watching.emplace(known_comm::of(*state), call_word_of(x), number, shared_memory.name, timeout);
  }
  inline_pool pool;
  memory_budget budget(o.memory, &pool);
  if (x.kind != exchange::form::alltoallw) return exchange_on_node(x, o, node, budget);
  std::pmr::vector<element> elements(&budget);
  if (elements_needed(x, node.size()) * sizeof(element) > o.memory) return {"no memory for the figures of the types"};
  exchange known;
  try {
    known = with_elements(x, node.size(), elements);
  } catch (const std::bad_alloc&) {
    return {"no memory for the figures of the types"};
  }
  return exchange_on_node(known, o, node, budget);
}

}  // namespace taquin::detail
