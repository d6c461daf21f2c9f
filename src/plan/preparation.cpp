#include "plan/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "algorithms/nodes/piggybacked_exchange.hpp"
#include "base/collective_error.hpp"
#include "base/environment.hpp"
#include "call/failure_map.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/simulated_time.hpp"
#include "plan/propose.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

const algorithm* named(std::string_view name, const shape& s) {
  const algorithm* a = find_algorithm(name);
  if (!a->supports(s))
    throw_on_all_ranks([&] {
      return usage_error(fmt::format("algorithm '{}' does not serve this exchange ({} ranks{}{})", name, s.ranks,
                                     s.in_place ? ", in place" : "", s.symmetric ? "" : ", asymmetric counts"),
                         MPI_ERR_UNSUPPORTED_OPERATION);
    });
  return a;
}

bool ends_by_itself(const algorithm& a, const shape& s, const options& o) {
  return a.ends_by_itself != nullptr && a.ends_by_itself(s, o, s.memory_limit);
}

}  // namespace

void preparation::run(bool lacks_memory) {
  if (x_.in_place) forget_map();
  // For a blocking call on one node, the step has counted the call.
  p_.running.set_up(x_.comm, !reused_);
  p_.running.stage([&] {
    describe(lacks_memory);
    agree();
    choose();
    if (p_.prepared == nullptr && !p_.again) prepare();  // else the agreement has carried it
  });
}

bool preparation::free_choice() const noexcept { return !inter() && name_ == automatic; }

std::size_t preparation::memory_left() const noexcept {
  return all_.memory == unlimited ? unlimited : all_.memory - std::min(all_.memory, element_bytes_);
}

void preparation::describe(bool lacks_memory) {
  if (inter()) {
    TAQUIN_MPI(PMPI_Comm_remote_size(x_.comm, &ranks_));
  } else {
    ranks_ = comm()->size();
  }
  name_ = o_.algorithm;
  if (name_ == automatic && !environment::get().algorithm.empty()) name_ = environment::get().algorithm;

  // A limit below the least memory of every call is an error after the agreement, on all ranks.
  element_bytes_ = elements_needed(x_, ranks_) * (sizeof(element) + sizeof(mpi::datatype));
  const bool enough = element_bytes_ <= o_.memory;
  try {
    if (lacks_memory) throw std::bad_alloc();
    if (enough && element_bytes_ > 0) x_ = with_elements(x_, ranks_, p_.elements);
    mine_ = enough ? propose(x_, o_, name_, ranks_, comm(), &p_.budget) : propose_nothing(x_, o_, name_);
    if (!inter() && !reused_ && (name_ == automatic || name_ == native.name)) set_aside_for_native();
  } catch (const std::bad_alloc&) {  // the others must not wait for this rank
    mine_ = propose_nothing(x_, o_, name_);
    mine_.invalid = out_of_memory();
  }
  mine_.algorithm = name_;
  mine_.fits_step = p_.fits_step;
  if (reused_) mine_.choices = ~mine_.choices;  // a plan on one rank and a blocking call on another are an error of all
  if (inter()) return;
  if (const chooser* const choices = chooser::find(*comm())) mine_.last_time = choices->last_time();
  tag_ = comm()->next_tag();
}

void preparation::agree() {
  all_ = {static_cast<const rank_properties&>(mine_), false};
  if (inter()) {  // one reduction cannot include both groups: the MPI library's rules hold
    if (mine_.invalid) throw usage_error(mine_.invalid->what, mine_.invalid->mpi_class, -1, mine_.invalid->peer);
    return;
  }
  agreement_path path = path_of(*comm(), p_.running.node());
  piggyback(path);
  all_ = p_.running.agree(mine_, tag_ + mpi::communicator::agreement_tag, path, &p_.budget);
  if (!all_.piggybacked) p_.prepared.reset();
  if (chooser* const choices = chooser::find(*comm())) choices->record_time(all_.last_time);
  if (x_.kind == exchange::form::alltoall && !all_.uniform)
    throw_on_all_ranks([&] {
      return usage_error(
          fmt::format("alltoall's blocks differ between ranks: the largest has {} bytes", all_.max_block_bytes),
          MPI_ERR_TRUNCATE);
    });
  if (all_.unmatched != 0) refuse_mismatch(*comm(), tag_ + mpi::communicator::agreement_tag, x_);
}

void preparation::describe_shape() {
  channel* const node = p_.running.node();
  shape& s = p_.shape;
  s = {.ranks = ranks_,
       .kind = x_.kind,
       .inter = inter(),
       .in_place = x_.in_place,
       .symmetric = x_.symmetric,
       .shared = !inter() && (node != nullptr || (ranks_ == 1 && !mpi::simulated)),
       .single_copies = node != nullptr && node->single_copies(),
       .uniform = all_.uniform};
  detail::describe(all_, s);
  if (all_.piggybacked) s.piggybacked_block = internode::find(*comm())->most_bytes();
}

void preparation::choose() {
  took_heap_ = !inter() && chooser::find(*comm()) == nullptr;
  describe_shape();
  shape& s = p_.shape;
  if (!free_choice()) p_.chosen = named(inter() ? "native" : name_, s);
  if (free_choice() || (p_.chosen->needs_nodes && !inter())) {
    p_.nodes = nodes_of(*comm(), o_.nodes);
    detail::describe(p_.nodes->topology, s);
    s.nodes_share = p_.nodes->shares;
  }
  s.memory_limit = memory_left();
  if ((free_choice() || p_.chosen == &multilevel) && any_automatic(o_.multilevel.levels)) {
    p_.levels = chooser::get_or_create(*comm()).levels(s, o_);
    o_.multilevel.levels = p_.levels->view();
  }
  if (free_choice()) choose_freely();
  if (p_.again) return;
  if (p_.chosen != &node_aggregated) p_.prepared.reset();  // the blocks that the step has carried are not used
  check_memory();
  p_.running.algorithm = p_.chosen->name;
  if (p_.chosen != &native) p_.budget.drop_aside();
}

void preparation::choose_freely() {
  if (is_done_by_step()) {
    p_.chosen = &node_aggregated;
    return;
  }
  p_.prepared.reset();
  p_.shape.piggybacked_block = 0;
  chooser& choices = chooser::get_or_create(*comm());
  p_.again = all_.fits_step && !all_.piggybacked && !choices.known().given;  // a refused profile changes nothing
  if (p_.again) return;
  p_.chosen = choices.choose(p_.shape, o_, reused_, p_.shape.memory_limit);
  took_heap_ = took_heap_ || choices.took_heap();
  // A plan in which no rank has data for another must not make ranks wait. Direct exchanges have no messages then.
  if (stays_local()) p_.chosen = &spread_out;
}

bool preparation::stays_local() const noexcept {
  return detail::stays_local(p_.shape, reused_, all_.moves || all_.unpublished);
}

void preparation::check_memory() const {
  if (all_.memory == unlimited || (free_choice() && p_.prepared != nullptr)) return;
  const std::size_t needed = element_bytes_ + p_.chosen->memory(p_.shape, o_);
  if (needed <= all_.memory) return;
  if (!inter())
    mpi::barrier(comm()->get());  // a rank without memory to choose has aborted the call: no other goes on without it
  const auto usual = p_.chosen->usual_memory;
  throw_memory_needed(fmt::format("algorithm '{}'", p_.chosen->name), needed,
                      usual == nullptr ? needed : element_bytes_ + usual(p_.shape, o_), all_.memory);
}

void preparation::prepare() {
  if (reused_) p_.types.keep(x_, p_.elements);
  // This rank would have to post the messages that are held back by the limit in flight.
  const bool all_at_once = free_choice() ? o_.progress == progress_by::library : p_.chosen == &spread_out;
  if (reused_ && all_at_once && o_.in_flight == 0) o_.in_flight = std::max(ranks_, in_flight_of(o_));
  if (free_choice() && reused_ && o_.tune && !stays_local() && tune()) return;
  const int tag = reused_ && !inter() ? p_.tags.take(*comm()) : tag_;
  context c{comm(), tag, &p_.shape, &o_, p_.nodes.get(), reused_, memory_left()};
  p_.budget.use_aside();
  p_.prepared = prepare_operation(*p_.chosen, x_, c, p_.budget);
  if (p_.prepared != nullptr) return synchronize_before_native();
  if (!free_choice())
    throw_on_all_ranks(
        [&] { return usage_error("ranks of this node cannot share memory", MPI_ERR_UNSUPPORTED_OPERATION); });
  choose_without_shared_memory(c);
}

// A rank that waits inside the MPI library does not notice that another one has aborted for lack of memory. So each
// rank allocates the memory for such a call before ranks agree. It uses at most half of its limit, because another
// algorithm may be chosen.
void preparation::set_aside_for_native() {
  const std::size_t most = native.memory({.ranks = ranks_, .kind = x_.kind, .large = true}, o_);
  if (most + p_.budget.used() > inline_pool::size && most <= o_.memory / 2) p_.budget.set_aside(most);
}

// Ranks synchronize before they enter the MPI library if one of them may have aborted: it has allocated after the
// agreement, or may have aborted that by its timeout. Whether they synchronize is the same on all ranks.
void preparation::synchronize_before_native() {
  if (p_.chosen != &native || reused_ || inter() || ranks_ == 1) return;
  const std::size_t most = native.memory({.ranks = ranks_, .kind = x_.kind, .large = true}, o_);
  const bool had_memory = most <= all_.memory / 2;
  if (!took_heap_ && had_memory && !all_.may_leave) return;
  const mpi::deadline::all_are_here unhurried;
  mpi::barrier(comm()->get());
}

// The choice assumed shared memory, but none is left. The same on all ranks. It is not remembered for later plans,
// because memory may be free again then.
void preparation::choose_without_shared_memory(context& c) {
  shape& s = p_.shape;
  s.shared = false;
  chooser& choices = chooser::get_or_create(*comm());
  const auto best = reused_ ? choices.ranked(s, o_, s.memory_limit) : std::vector<const algorithm*>();
  p_.chosen = best.empty() ? choices.choose(s, o_, reused_, s.memory_limit) : best.front();
  p_.running.algorithm = p_.chosen->name;
  took_heap_ = true;
  p_.prepared = prepare_operation(*p_.chosen, x_, c, p_.budget);
  synchronize_before_native();
}

// Options that only this rank has set, and the sizes of its blocks, decide what it brings to the step, not whether it
// enters: if one rank brings no blocks, all ranks drop those of the others.
bool preparation::may_piggyback(const agreement_path& path) {
  if (reused_ || path.between == nullptr || mine_.invalid || mine_.unpublished) return false;
  if (name_ != automatic && (name_ != node_aggregated.name || x_.in_place)) return false;
  const level& steps = path.between->nodes();  // each rank that is alone receives a message from each other one
  if (steps.largest() == 1 && steps.groups() - 1 > in_flight_of(o_)) return false;
  if (!piggybacked_exchange::possible(x_, *path.between, p_.budget)) return false;
  if (name_ != automatic) return true;
  chooser* const choices = chooser::find(*comm());
  if (choices == nullptr) {
    mine_.fits_step = true;
    return environment::get().profile.empty();
  }
  shape s{.ranks = ranks_, .kind = x_.kind, .in_place = x_.in_place, .symmetric = x_.symmetric};
  detail::describe(mine_, s);
  s.uniform = s.max_block_bytes == s.min_block_bytes;
  s.piggybacked_block = path.between->most_bytes();
  const auto nodes = nodes_of(*comm(), {});
  detail::describe(nodes->topology, s);
  s.nodes_share = nodes->shares;
  return choices->uses_step(node_aggregated, s, o_);
}

void preparation::piggyback(agreement_path& path) {
  try {
    if (!may_piggyback(path)) return;
    auto blocks = make_operation<piggybacked_exchange>(p_.budget, x_, *comm(), tag_ + 1, p_.budget);
    path.blocks = blocks.get();
    p_.prepared = std::move(blocks);
  } catch (const budget_exceeded&) {  // within so little memory this rank brings no blocks
  } catch (const std::bad_alloc&) {
    mine_.invalid = out_of_memory();
  }
}

// The work that the step has done for all ranks, within the limit that each rank has checked before.
bool preparation::is_done_by_step() const noexcept {
  if (p_.prepared == nullptr || !node_aggregated.supports(p_.shape)) return false;
  const level& nodes = internode::find(*comm())->nodes();
  shape s = p_.shape;
  s.nodes = nodes.groups();
  s.largest_node = nodes.largest();
  s.smallest_node = nodes.smallest();
  return piggybacked_exchange::footprint(s) <= s.memory_limit;
}

// Prepares as many candidates as the memory holds; false if that is only one.
bool preparation::tune() {
  const shape& s = p_.shape;
  const std::size_t limit = s.memory_limit;
  const auto few = candidates(chooser::get_or_create(*comm()).ranked(s, o_, limit), s, o_, limit);
  if (few.size() < 2) return false;
  std::size_t needed = autotuner::overhead(s.ranks, few.size());
  for (const candidate_plan& c : few) needed += c.memory;
  // Candidates that run faster with more memory than they need share the rest.
  const std::size_t share = limit == unlimited ? 0 : (limit - needed) / few.size();
  std::pmr::vector<prepared_candidate> all(&p_.budget);
  all.reserve(few.size());
  const int tag = p_.tags.take(*comm(), static_cast<int>(few.size()));
  for (const auto& [a, opts, memory] : few) {
    shape own = s;
    if (limit != unlimited) own.memory_limit = memory + share;
    if (ends_by_itself(*a, s, opts) && !ends_by_itself(*a, own, opts)) continue;  // with so much less memory
    const int own_tag = tag + static_cast<int>(all.size()) * mpi::communicator::tags_per_plan;
    const context c{comm(), own_tag, &own, &opts, p_.nodes.get(), true, own.memory_limit};
    if (auto made = prepare_operation(*a, x_, c, p_.budget)) all.push_back({a, std::move(made)});
  }
  auto made =
      make_operation<autotuner>(p_.budget, std::move(all), *comm(), tag + mpi::communicator::agreement_tag, p_.budget);
  p_.tuned = made.get();
  p_.chosen = p_.tuned->running();
  p_.prepared = std::move(made);
  return true;
}

}  // namespace taquin::detail
