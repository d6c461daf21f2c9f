#include "plan/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "algorithms/nodes/carried_exchange.hpp"
#include "base/environment.hpp"
#include "exchange/agree.hpp"
#include "exchange/meet.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/progress.hpp"
#include "mpi/simulated_time.hpp"
#include "plan/propose.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::uint64_t facts_of(const exchange& x) noexcept {
  return static_cast<std::uint64_t>(x.kind) << 1U | (x.in_place ? mpi::whereabouts::in_place : 0);
}

std::size_t elements_needed(const exchange& x, int ranks) {
  if (x.kind != exchange::form::alltoallw || exchange_fault::of(x) != nullptr) return 0;
  return (x.in_place && x.symmetric ? 1U : 2U) * static_cast<std::size_t>(ranks);
}

exchange with_elements(const exchange& x, int ranks, std::pmr::vector<element>& elements) {
  exchange y = x;
  const bool shared = x.in_place && x.symmetric;  // both sides have the receive side's types
  elements.reserve(elements_needed(x, ranks));
  for (int i = 0; i < ranks; ++i) elements.push_back(element::of(x.recv.types[i]));
  if (!shared)
    for (int i = 0; i < ranks; ++i) elements.push_back(element::of(x.send.types[i]));
  y.recv.elements = elements.data();
  y.send.elements = elements.data() + (shared ? 0 : ranks);
  return y;
}

namespace {

const algorithm* named(std::string_view name, const shape& s) {
  const algorithm* a = find_algorithm(name);
  if (!a->supports(s))
    throw on_all_ranks(
        usage_error(fmt::format("algorithm '{}' does not serve this exchange ({} ranks{}{})", name, s.ranks,
                                s.in_place ? ", in place" : "", s.symmetric ? "" : ", asymmetric counts"),
                    MPI_ERR_UNSUPPORTED_OPERATION));
  return a;
}

bool ends_by_itself(const algorithm& a, const shape& s, const options& o) {
  return a.ends_by_itself != nullptr && a.ends_by_itself(s, o, s.memory_limit);
}

}  // namespace

// This rank is in the plan's call, whose waits have its timeout.
struct plan_state::watched {
  explicit watched(plan_state& p)
      : here(p.comm != nullptr ? &p.comm->calls() : nullptr, p.comm != nullptr ? p.facts : 0), present(p.comm) {
    if (p.timeout.seconds > 0 && p.comm != nullptr) [[unlikely]]
      clock.emplace(*p.comm, p.facts, p.number, p.running, p.timeout);
  }
  mpi::in_call here;
  mpi::present present;
  std::optional<call_watch> clock;
};

void plan_state::count() {
  if (comm != nullptr) number = mpi::count_call(comm->calls());
}

plan_state::plan_state(const exchange& given, const options& asked, bool reused, bool lacks_memory)
    : budget(asked.memory, &pool), elements(&budget), types(&budget), stats(asked.stats) {
  options o = asked;
  if (environment::get().invalid_argument.empty()) o.progress = progress_of(asked);
  by_thread = o.progress == progress_by::thread;
  facts = facts_of(given) | (reused ? mpi::whereabouts::plan : 0);
  timeout = patience::of(asked);
  const meeting here = meet(given.comm, facts, timeout);
  const bool inter = here.state == nullptr;
  if (!inter) {
    comm = here.state;
    comm_lease = comm->keep();
  }
  channel* const node = here.node;
  // A blocking call on a node was counted when the short way was tried, which does not watch over a first call.
  if (node == nullptr || reused || (here.first && timeout.seconds > 0)) {
    count();
  } else {
    number = comm->calls().calls.load(std::memory_order_relaxed);
  }
  const watched during(*this);
  int ranks = 0;
  if (inter) {
    TAQUIN_MPI(PMPI_Comm_remote_size(given.comm, &ranks));
  } else {
    ranks = comm->size();
  }
  std::string_view name = o.algorithm;
  if (name == automatic && !environment::get().algorithm.empty()) name = environment::get().algorithm;

  // Memory that is taken whatever the algorithm. A limit below that fails after the agreement, on all ranks.
  const std::size_t element_bytes = elements_needed(given, ranks) * (sizeof(element) + sizeof(mpi::datatype));
  const bool enough = element_bytes <= o.memory;
  exchange x = given;
  proposal mine;
  try {
    if (lacks_memory) throw std::bad_alloc();
    if (enough && element_bytes > 0) x = with_elements(given, ranks, elements);
    mine = enough ? propose(x, o, name, ranks, comm, &budget) : propose_nothing(x, o, name);
    if (!inter && (name == automatic || name == native.name)) set_aside_for_native(x, o, ranks);
  } catch (const std::bad_alloc&) {  // the others must not wait for this rank
    mine = propose_nothing(x, o, name);
    mine.bad = out_of_memory();
  }
  mine.facts = facts;
  mine.number = number;
  mine.algorithm = name;
  if (!inter && comm->choices != nullptr) mine.last_time = comm->choices->last_time();
  const int tag = inter ? 0 : comm->next_tag();
  agreed all{static_cast<const rank_facts&>(mine), false};  // which is all that is known on an intercommunicator
  if (!inter) {
    all = agree_with_payload(x, o, name, reused, mine, tag, node);
    if (comm->choices != nullptr) comm->choices->learn(all.last_time);
  } else if (mine.bad) {  // both groups cannot be asked in one reduction: the MPI library's rules hold
    throw usage_error(mine.bad->what, mine.bad->mpi_class, -1, mine.bad->peer);
  }
  if (!inter && x.kind == exchange::form::alltoall && !all.uniform)
    throw on_all_ranks(usage_error(
        fmt::format("alltoall's blocks differ between ranks: the largest has {} bytes", all.max_block_bytes),
        MPI_ERR_TRUNCATE));
  if (all.unmatched != 0) refuse_mismatch(*comm, tag + mpi::communicator::agreement_tag, x);
  shape = {.ranks = ranks,
           .kind = x.kind,
           .inter = inter,
           .in_place = x.in_place,
           .symmetric = x.symmetric,
           .shared = !inter && (node != nullptr || (ranks == 1 && !mpi::simulated)),
           .single_copies = node != nullptr && node->single_copies(),
           .uniform = all.uniform};
  describe(all, shape);
  const bool free_choice = !inter && name == automatic;
  // In place there is a choice that the step alone can serve.
  const bool carries = !x.in_place || ((x.symmetric || shape.unit_span == 0) && free_choice && all.memory == unlimited);
  if (!inter && !reused && carries && comm->between != nullptr) shape.carried_block = comm->between->most_bytes();
  if (!free_choice) chosen = named(inter ? "native" : name, shape);
  if (free_choice || (chosen->needs_nodes && !inter)) {
    nodes = nodes_of(*comm, o.nodes);
    describe(nodes->topology, shape);
    shape.nodes_share = nodes->shares;
  }
  shape.memory_limit = all.memory == unlimited ? unlimited : all.memory - std::min(all.memory, element_bytes);
  if ((free_choice || chosen == &multilevel) && any_automatic(o.multilevel.levels)) {
    levels = chooser::of(*comm).levels(shape, o);
    o.multilevel.levels = levels->view();
  }
  if (free_choice) {
    const algorithm* const carried = all.carried ? &node_aggregated : chooser::last_choice(*comm, x.kind);
    chosen = chooser::of(*comm).choose(shape, o, reused, shape.memory_limit);
    if (all.early && chosen != &spread_out) {
      chooser::of(*comm).forget_last();  // its time is not that of the choice
      chosen = &spread_out;
    } else if (chosen != carried && !all.early) {
      body.reset();  // what was carried was in vain, and is forgotten
    }
  }
  if (all.memory != unlimited && !all.early) {
    const std::size_t needed = element_bytes + chosen->memory(shape, o);
    if (needed > all.memory)
      throw on_all_ranks(budget_exceeded(fmt::format("algorithm '{}' needs {} bytes of extra memory, {} are allowed",
                                                     chosen->name, needed, all.memory),
                                         needed, 0, all.memory));
  }
  running = chosen->name;
  if (chosen != &native) pool.forget_spare();
  if (body != nullptr) return;  // the agreement carried it
  // It would have, had it been known; one step more takes less than preparing does.
  if (chosen->carried.between_nodes && all.memory == unlimited && shape.carries()) {
    auto blocks = make_operation<carried_exchange>(budget, x, *comm, tag + 1, budget);
    blocks->carry(tag);
    body = std::move(blocks);
    return;
  }
  if (reused) types.keep(x, elements);
  // Messages that wait for their turn would need this rank.
  const bool all_at_once = free_choice ? o.progress == progress_by::library : chosen == &spread_out;
  if (reused && all_at_once && o.max_in_flight == 0) o.max_in_flight = ranks;
  if (free_choice && reused && o.tune && tune(x, o)) return;
  const int own_tag = reused && !inter ? tags.take(*comm) : tag;
  const std::size_t left = all.memory == unlimited ? unlimited : all.memory - element_bytes;
  context c{comm, own_tag, &shape, &o, nodes.get(), reused, left};
  body = prepare_operation(*chosen, x, c, budget);
  if (body != nullptr) return;
  if (!free_choice)
    throw on_all_ranks(usage_error("ranks of this node cannot share memory", MPI_ERR_UNSUPPORTED_OPERATION));
  choose_without_shared_memory(x, o, c);
}

// Ranks that wait inside the MPI library would not notice that one of them has none.
void plan_state::set_aside_for_native(const exchange& x, const options& o, int ranks) {
  const std::size_t most = native.memory({.ranks = ranks, .kind = x.kind, .large = true}, o);
  if (most <= o.memory / 2) pool.set_aside(most);
}

// The choice was made for ranks that share memory, and there is none left. The same on all ranks. Plans do not remember
// this: there may be memory again.
void plan_state::choose_without_shared_memory(const exchange& x, const options& o, context& c) {
  shape.shared = false;
  chooser& choices = chooser::of(*comm);
  const auto best = c.reused ? choices.ranked(shape, o, shape.memory_limit) : std::vector<const algorithm*>();
  chosen = best.empty() ? choices.choose(shape, o, c.reused, shape.memory_limit) : best.front();
  running = chosen->name;
  body = prepare_operation(*chosen, x, c, budget);
}

// The agreement, with the small blocks of a blocking call on board where the algorithm can do that.
agreed plan_state::agree_with_payload(const exchange& x, const options& o, std::string_view name, bool reused,
                                      const proposal& mine, int tag, channel* node) {
  const int agreement_tag = tag + mpi::communicator::agreement_tag;
  agreement_way way = way_of(*comm, node);
  // Not every rank may have come here with "auto": only the agreement tells.
  const algorithm* a = name == automatic ? chooser::last_choice(*comm, x.kind) : find_algorithm(name);
  const bool carry = !reused && comm->size() > 1;
  if (way.between != nullptr) return agree_between(x, o, name, mine, tag, way, a, carry);
  if (way.node != nullptr || !carry || x.in_place || a == nullptr || a->carried.prepare == nullptr ||
      a->carried.capacity(comm->size(), o) == 0)
    return agree(*comm, agreement_tag, mine, way, &budget);
  try {
    if (!mine.bad) {
      piggyback_ptr payload;
      try {
        payload = a->carried.prepare(x, *comm, tag, o, budget);
      } catch (const std::bad_alloc&) {
        proposal failed = mine;
        failed.bad = out_of_memory();
        return agree(*comm, agreement_tag, failed, way, &budget);
      }
      way.payload = payload.get();
      body = std::move(payload);
      return agree(*comm, agreement_tag, mine, way, &budget);
    }
    empty_piggyback nothing(a->carried.capacity(comm->size(), o), &budget);
    way.payload = &nothing;
    return agree(*comm, agreement_tag, mine, way, &budget);
  } catch (const budget_exceeded&) {
    // Nothing was sent yet; the others learn of the limit and fail as well. Until then this rank takes what they send,
    // in memory outside its budget, because not every MPI library survives a message that is too long.
    body.reset();
    empty_piggyback nothing(a->carried.capacity(comm->size(), o), std::pmr::new_delete_resource());
    way.payload = &nothing;
    return agree(*comm, agreement_tag, mine, way, std::pmr::new_delete_resource());
  }
}

// Several candidates, as far as the memory allows; false where it allows one only.
bool plan_state::tune(const exchange& x, const options& o) {
  const std::size_t limit = shape.memory_limit;
  const auto few = candidates(chooser::of(*comm).ranked(shape, o, limit), shape, o, limit);
  if (few.size() < 2) return false;
  std::size_t needed = autotuner::overhead(shape.ranks, few.size());
  for (const candidate_plan& c : few) needed += c.memory;
  // Those that make use of more than they need share what is left.
  const std::size_t share = limit == unlimited ? 0 : (limit - needed) / few.size();
  std::pmr::vector<prepared_candidate> all(&budget);
  all.reserve(few.size());
  const int tag = tags.take(*comm, static_cast<int>(few.size()));
  for (const auto& [a, opts, memory] : few) {
    detail::shape own = shape;
    if (limit != unlimited) own.memory_limit = memory + share;
    if (ends_by_itself(*a, shape, opts) && !ends_by_itself(*a, own, opts)) continue;  // with so much less memory
    const int own_tag = tag + static_cast<int>(all.size()) * mpi::communicator::tags_per_plan;
    const context c{comm, own_tag, &own, &opts, nodes.get(), true, own.memory_limit};
    if (auto made = prepare_operation(*a, x, c, budget)) all.push_back({a, std::move(made)});
  }
  auto made = make_operation<autotuner>(budget, std::move(all), *comm, tag + mpi::communicator::agreement_tag, budget);
  tuned = made.get();
  chosen = tuned->running();
  body = std::move(made);
  return true;
}

void plan_state::check_idle() const {
  if (under_way) throw usage_error("the plan is started already", MPI_ERR_REQUEST);
}

void plan_state::start() {
  count();
  const watched during(*this);
  body->start();
  if (tuned != nullptr) chosen = tuned->running();
  under_way = true;
  begin(by_thread);
}

bool plan_state::test() {
  if (!under_way) return true;
  const watched during(*this);
  try {
    if (!look()) {
      mpi::present::look();
      return false;
    }
  } catch (...) {
    under_way = false;
    throw;
  }
  end();
  return true;
}

void plan_state::wait() {
  if (!under_way) return;
  const watched during(*this);
  under_way = false;
  finish();
  end();
}

void plan_state::run() {
  if ((facts & mpi::whereabouts::plan) != 0) count();
  const watched during(*this);
  try {
    body->run();
  } catch (const error&) {
    if (tuned != nullptr) chosen = tuned->running();
    throw;
  }
  const bool blocking = (facts & mpi::whereabouts::plan) == 0;
  if (blocking && comm != nullptr && comm->choices != nullptr) comm->choices->took(PMPI_Wtime() - begun);
  if (tuned != nullptr) chosen = tuned->running();
  end();
}

void plan_state::end() {
  under_way = false;
  if (stats == nullptr) return;
  ++stats->starts;
  body->account(*stats);
  stats->peak_memory = std::max(stats->peak_memory, budget.peak());
  stats->algorithm = chosen->name;
}

}  // namespace taquin::detail
