#include "plan/on_node.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/shared_exchange.hpp"
#include "base/environment.hpp"
#include "base/fingerprint.hpp"
#include "base/inline_pool.hpp"
#include "base/memory_budget.hpp"
#include "base/pair_weights.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/facts.hpp"
#include "exchange/validate.hpp"
#include "mpi/failure.hpp"
#include "mpi/watch.hpp"
#include "node/blocking_channel.hpp"
#include "node/call_watch.hpp"
#include "plan/idle.hpp"
#include "plan/library_call.hpp"
#include "plan/plain_call.hpp"
#include "plan/plan_state.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// No variable in the environment concerns a call on one node.
bool plain_here() {
  static const bool plain = plain_environment() && environment::get().nodes.empty();
  return plain;
}

// One of the first calls on a communicator, as the MPI library's.
class first_by_library final : public first_call {
 public:
  first_by_library(const exchange& x, const options& o, bool unasked) noexcept : x_(x), o_(o), unasked_(unasked) {}

  // Uses only what is the same on all ranks.
  [[nodiscard]] bool unasked() const noexcept override {
    return unasked_ && plain_here() && plain(o_) && !by_name(o_) && patience::of(o_).seconds == 0 &&
           !mpi::survives_failures();
  }

  bool prepare(int rank, int ranks) noexcept override {
    rank_ = rank;
    ranks_ = ranks;
    if (!plain_here() || !plain(o_) || by_name(o_) || patience::of(o_).seconds > 0) return false;
    if (x_.in_place || invalid_exchange::of(x_) != nullptr || mpi::survives_failures() || mpi::must_look())
      return false;
    try {
      if (!library_can(x_, ranks)) return false;
      arguments_ = std::make_unique<arguments>(o_.memory);
      arguments& a = *arguments_;
      a.known = x_.kind == exchange::form::alltoallw ? with_elements(x_, ranks, a.elements) : x_;
      if (validate(a.known, ranks, &a.budget)) return false;
      if (x_.kind == exchange::form::alltoall && x_.send.bytes(0) != x_.recv.bytes(0)) return false;
      a.call.emplace(a.known, ranks, &a.budget);
      return true;
    } catch (const std::exception&) {  // the agreement reports it
      return false;
    }
  }

  [[nodiscard]] std::uint64_t differs() const noexcept override {
    const exchange& x = arguments_->known;
    fingerprint call;
    call.add(x.kind);
    const bool equal = x.kind == exchange::form::alltoall;
    if (equal) call.add(x.send.bytes(0));
    // Each rank's weight counts for its own call and against that of the rank before it.
    std::uint64_t sum =
        call.value() * (pair_weights::sender(rank_) - pair_weights::sender(rank_ + 1 < ranks_ ? rank_ + 1 : 0));
    for (int peer = 0; !equal && peer < ranks_; ++peer) {
      const std::uint64_t out = pair_weights::sender(rank_) * pair_weights::receiver(peer);
      const std::uint64_t in = pair_weights::sender(peer) * pair_weights::receiver(rank_);
      sum += static_cast<std::uint64_t>(x.send.bytes(peer)) * out - static_cast<std::uint64_t>(x.recv.bytes(peer)) * in;
    }
    return sum;
  }

  [[nodiscard]] count_t longest() const noexcept override {
    const blocks& b = arguments_->known.send;
    count_t most = 0;
    for (int peer = 0; peer < ranks_; ++peer) most = std::max(most, b.bytes(peer));
    return most;
  }

  void write(int peer, std::span<std::byte> room) const override {
    const blocks& b = arguments_->known.send;
    if (b.bytes(peer) == 0) return;
    pack(static_cast<const std::byte*>(b.base) + b.offset(peer), b.counts[peer], b.element_of(peer), room.data());
  }

  void read(int peer, std::span<const std::byte> room) override {
    const blocks& b = arguments_->known.recv;
    const count_t n = std::min(b.bytes(peer), static_cast<count_t>(room.size()));
    if (n > 0)
      unpack_first(room.data(), n, static_cast<std::byte*>(b.base) + b.offset(peer), b.counts[peer],
                   b.element_of(peer));
    made_ = true;
  }

  node_call run() {
    if (arguments_ == nullptr) return {.left_to_caller = true, .error_at_end = nullptr};
    if (!made_) arguments_->call->run();
    if (o_.stats != nullptr)
      account_for_library(arguments_->known, rank_, ranks_, arguments_->budget.peak(), *o_.stats);
    return {.served = true, .error_at_end = nullptr};
  }

 private:
  struct arguments {
    explicit arguments(std::size_t memory) : budget(memory, &pool), elements(&budget) {}
    inline_pool pool;
    memory_budget budget;
    std::pmr::vector<element> elements;
    exchange known;
    std::optional<library_call> call;
  };

  const exchange& x_;
  const options& o_;
  bool unasked_;
  bool made_ = false;  // its blocks have come
  int rank_ = 0;
  int ranks_ = 1;
  std::unique_ptr<arguments> arguments_;
};

// With types known. Not served when this rank cannot take part, or any other does not.
node_call exchange_on_node(const exchange& x, const options& o, channel& node, memory_budget& budget) {
  if (validate(x, node.size(), &budget)) return {};
  const bool equal = x.kind == exchange::form::alltoall;
  if (equal && !x.in_place && x.send.bytes(0) != x.recv.bytes(0)) return {};
  shared_exchange e(x, node, o.memory - std::min(o.memory, budget.used()));
  if (!e.possible()) return {};
  const bool named = by_name(o);
  const std::uint32_t choices = choices_of(x, named);
  // In calls that may go to the MPI library ranks must meet in the same call; here they find out whether they do.
  const bool in_a_row = node.idle().period > 0;
  e.post(in_a_row ? choices | static_cast<std::uint32_t>(node.calls()->calls.load(std::memory_order_relaxed) << 6U)
                  : choices);
  if (node.provisional()) [[unlikely]] {
    if (!node.wait_first_lines()) return {.spare_is_gone = true, .error_at_end = nullptr};
  } else {
    node.wait_lines();
  }
  if (!e.agreed()) return {};
  if (in_a_row || !e.sends()) [[unlikely]]
    node.idle().note(choices, !named && !x.in_place && e.nothing_moves(),
                     node.calls()->calls.load(std::memory_order_relaxed));
  e.finish_with_lines();
  if (o.stats != nullptr) {
    ++o.stats->starts;
    e.account(*o.stats);
    o.stats->peak_memory = std::max({o.stats->peak_memory, budget.peak(), budget.used() + e.room_used()});
    o.stats->algorithm = shared_memory.name;
  }
  return {.served = true, .error_at_end = e.failed() ? e.error_at_end() : nullptr};
}

node_call try_on_node(const exchange& x, const options& o, bool unasked, channel*& node) {
  const patience timeout = patience::of(o);
  mpi::communicator* state = nullptr;
  if (timeout.seconds > 0) [[unlikely]] {
    state = mpi::communicator::known(x.comm);
    if (state == nullptr) return {};  // the long way makes the channel, under the call's timeout
  }
  first_by_library first(x, o, unasked);
  node = blocking_channel(x.comm, &first);
  if (first.by_library) [[unlikely]]
    return first.run();
  if (node == nullptr) return {};
  const std::uint64_t number = mpi::count_call(*node->calls());
  if (!plain_here() || !plain(o) || invalid_exchange::of(x) != nullptr) return {};
  // A named algorithm gets the memory that it states, or all ranks refuse it.
  if (by_name(o) && o.memory != unlimited) return {};
  const mpi::in_call here(node->calls(), facts_of(x));
  std::optional<call_watch> watching;
  if (state != nullptr) [[unlikely]] {
    if (!state->kept.has(rank_places::kept_as)) share_calls(x.comm, *state);
    watching.emplace(known_comm::of(*state), facts_of(x), number, shared_memory.name, timeout);
  }
  if (node->idle().covers(number, choices_of(x, false)) && timeout.seconds == 0 && !by_name(o)) [[unlikely]] {
    node->look_at_notes();
    run_idle(x, o, node->rank(), node->size());
    return {.served = true, .error_at_end = nullptr};
  }
  inline_pool pool;
  memory_budget budget(o.memory, &pool);
  if (x.kind != exchange::form::alltoallw) return exchange_on_node(x, o, *node, budget);
  std::pmr::vector<element> elements(&budget);
  if (elements_needed(x, node->size()) * sizeof(element) > o.memory) return {};
  exchange known;
  try {
    known = with_elements(x, node->size(), elements);
  } catch (const std::bad_alloc&) {  // the long way tells the others
    return {};
  }
  return exchange_on_node(known, o, *node, budget);
}

}  // namespace

// A spare channel is found out to be no one's but this rank's by the first call on it; then the call begins again.
node_call run_on_node(const exchange& x, const options& o, bool unasked) {
  channel* node = nullptr;
  node_call done = try_on_node(x, o, unasked, node);
  if (node == nullptr || !node->provisional()) [[likely]]
    return done;
  if (!done.spare_is_gone && meet_again(x.comm)) return done;
  if (done.spare_is_gone) forget_spare(x.comm);
  return run_on_node(x, o, unasked);
}

}  // namespace taquin::detail
