// How a blocking call between nodes begins, before ranks know what it is: docs/internals/nodes.md.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "algorithms/nodes/carried_exchange.hpp"
#include "plan/early_exchange.hpp"
#include "plan/prepare.hpp"
#include "plan/propose.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

// In a step among nodes. What this form's last call was done by tells how this one begins: with small blocks in the
// step's messages, or with large ones on their way at once. Nothing was chosen before the first call.
agreed plan_state::agree_between(const exchange& x, const options& o, std::string_view name, const proposal& mine,
                                 int tag, agreement_way& way, const algorithm* last, bool may) {
  const bool first = name == automatic && comm->choices == nullptr;
  const bool carries = first || (last != nullptr && last->carried.between_nodes);
  may = may && !mine.bad;
  proposal ours = mine;
  try {
    if (may && carries && carried_exchange::possible(x, *way.between, budget)) {
      auto blocks = make_operation<carried_exchange>(budget, x, *comm, tag + 1, budget);
      way.blocks = blocks.get();
      body = std::move(blocks);
    } else if (may && !x.in_place && last == &spread_out && !mine.large && early_exchange::posts_all(o, comm->size()) &&
               mine.max_block_bytes <= static_cast<std::uint64_t>(early_start::most_bytes)) {
      const detail::shape s{.ranks = comm->size(), .kind = x.kind};
      if (spread_out.memory(s, o) + sizeof(early_exchange) <= o.memory - std::min(o.memory, budget.used())) {
        const context c{comm, tag, &s, &o, nullptr, false, unlimited};
        auto direct =
            make_operation<early_exchange>(budget, x, comm->rank(), prepare_operation(spread_out, x, c, budget));
        way.early = direct.get();
        way.early_tag = tag;
        body = std::move(direct);
      }
    }
  } catch (const std::bad_alloc&) {
    ours.bad = out_of_memory();
  }
  agreed all;
  try {
    all = agree(*comm, tag + mpi::communicator::agreement_tag, ours, way, &budget);
  } catch (const error& e) {
    if (way.early != nullptr && e.collective()) complete_in_vain();
    throw;
  }
  if (way.early != nullptr &&
      (!all.early || all.unmatched != 0 || (x.kind == exchange::form::alltoall && !all.uniform)))
    complete_in_vain();
  if (!all.carried && !all.early) body.reset();
  return all;
}

// What this rank has begun ends, because the others have answered its messages; nobody wants to know how.
void plan_state::complete_in_vain() noexcept {
  try {
    body->wait();
  } catch (const error&) {  // known already, or of no interest
  }
  body.reset();
}

}  // namespace taquin::detail
