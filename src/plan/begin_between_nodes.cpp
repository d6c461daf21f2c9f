// How a blocking call between nodes begins, before ranks know what it is: docs/internals/nodes.md.
#include <new>

#include "algorithms/nodes/carried_exchange.hpp"
#include "plan/early_exchange.hpp"
#include "plan/preparation.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

// What this form's last call was done by tells how this one begins: with small blocks in the step's messages, or with
// large ones on their way at once. Nothing was chosen before the first call.
void preparation::begin_between(agreement_way& way, const algorithm* last) {
  const bool first = free_choice() && chooser::known(*comm()) == nullptr;
  const bool carries = first || (last != nullptr && last->carried.between_nodes);
  if (carries && carried_exchange::possible(x_, *way.between, p_.budget)) {
    auto blocks = make_operation<carried_exchange>(p_.budget, x_, *comm(), tag_ + 1, p_.budget);
    way.blocks = blocks.get();
    p_.body = std::move(blocks);
    return;
  }
  if (x_.in_place || last != &spread_out || mine_.large || !early_exchange::posts_all(o_, ranks_) ||
      mine_.max_block_bytes > static_cast<std::uint64_t>(early_start::most_bytes))
    return;
  const shape s{.ranks = ranks_, .kind = x_.kind};
  if (spread_out.memory(s, o_) + sizeof(early_exchange) > o_.memory - std::min(o_.memory, p_.budget.used())) return;
  const context c{comm(), tag_, &s, &o_, nullptr, false, unlimited};
  auto direct =
      make_operation<early_exchange>(p_.budget, x_, comm()->rank(), prepare_operation(spread_out, x_, c, p_.budget));
  way.early = direct.get();
  way.early_tag = tag_;
  p_.body = std::move(direct);
}

agreed preparation::agree_between(agreement_way& way, const algorithm* last, bool may) {
  try {
    if (may && !mine_.bad) begin_between(way, last);
  } catch (const std::bad_alloc&) {
    mine_.bad = out_of_memory();
  }
  agreed all;
  try {
    all = agree(mine_, way, &p_.budget);
  } catch (const error& e) {
    if (way.early != nullptr && e.collective()) complete_unwanted();
    throw;
  }
  if (way.early != nullptr &&
      (!all.early || all.unmatched != 0 || (x_.kind == exchange::form::alltoall && !all.uniform)))
    complete_unwanted();
  if (!all.carried && !all.early) p_.body.reset();
  return all;
}

// The exchange that this rank has begun ends, because the others have answered its messages. The call has another
// error, or exchanges the same blocks in another way: what this one ends with does not count.
void preparation::complete_unwanted() noexcept {
  try {
    p_.body->wait();
  } catch (const error&) {
  }
  p_.body.reset();
}

}  // namespace taquin::detail
