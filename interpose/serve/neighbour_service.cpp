#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "base/sizes.hpp"
#include "interpose/reasons.hpp"
#include "interpose/serve/call_sides.hpp"
#include "interpose/serve/kept_service.hpp"
#include "interpose/serve/neighbours.hpp"
#include "interpose/serve/route.hpp"
#include "mpi/abort_call.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "taquin/error.hpp"

namespace taquin::interpose {

using detail::as_size;

std::vector<int> neighbours_of(MPI_Comm comm, bool send) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  std::vector<int> ranks;
  if (topology == MPI_DIST_GRAPH) {
    int in = 0;
    int out = 0;
    int weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    std::vector<int> sources(static_cast<std::size_t>(in));
    std::vector<int> targets(static_cast<std::size_t>(out));
    std::vector<int> source_weights(sources.size());
    std::vector<int> target_weights(targets.size());
    PMPI_Dist_graph_neighbors(comm, in, sources.data(), weighted != 0 ? source_weights.data() : MPI_UNWEIGHTED, out,
                              targets.data(), weighted != 0 ? target_weights.data() : MPI_UNWEIGHTED);
    return send ? targets : sources;
  }
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  int n = 0;
  if (topology == MPI_GRAPH) {
    PMPI_Graph_neighbors_count(comm, rank, &n);
    ranks.resize(static_cast<std::size_t>(n));
    PMPI_Graph_neighbors(comm, rank, n, ranks.data());
  } else if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &n);
    for (int dimension = 0; dimension < n; ++dimension) {
      int before = 0;
      int behind = 0;
      PMPI_Cart_shift(comm, dimension, 1, &before, &behind);
      ranks.insert(ranks.end(), {before, behind});
    }
  }
  return ranks;
}

namespace {

bool has_neighbours(MPI_Comm comm) {
#if !defined(OPEN_MPI) && !defined(MPICH)  // MPI's standard ABI, with which this is not tested
  return false;
#endif
  int topology = MPI_UNDEFINED;
  TAQUIN_MPI(PMPI_Topo_test(comm, &topology));
  return topology != MPI_UNDEFINED;
}

}  // namespace

std::shared_ptr<neighbour_service> neighbour_service::of(MPI_Comm comm) {
  if (auto found = kept_service<neighbour_service>::find(comm)) return found;
  if (!has_neighbours(comm)) return nullptr;
  return kept_service<neighbour_service>::keep(comm, std::make_shared<neighbour_service>(comm));
}

std::shared_ptr<neighbour_service> neighbour_service::of_all(MPI_Comm comm) {
  if (auto found = kept_service<neighbour_service>::find(comm)) return found;
  if (!has_neighbours(comm)) return nullptr;
  auto made = on_all_ranks_or_none(comm, [&] { return of(comm); });
  if (made == nullptr) forget(comm);  // those that this rank has made
  return made;
}

void neighbour_service::forget(MPI_Comm comm) { kept_service<neighbour_service>::forget(comm); }

neighbour_service::neighbour_service(MPI_Comm comm)
    : comm_(comm),
      edges_{.sources = neighbours_of(comm, false), .destinations = neighbours_of(comm, true)},
      on_one_node_(agreed_slots::on_one_node(comm)) {
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks_));
}

kept_trials& neighbour_service::kept() const noexcept {
  return kept_trials::of(on_one_node_ ? kept_trials::form::neighbours : kept_trials::form::neighbours_by_steps);
}

agreed_slots::demands neighbour_service::demands() const {
  return {.edges = edges_,
          .user_bytes = 0,
          .each_with_each = false,
          .outcomes = {.taquin = 0, .library = 0, .early = kept().early(ranks_) ? 1U : 0U}};
}

void neighbour_service::count_call() noexcept {
  if (++calls_ == kept_trials::many) kept().used(ranks_, calls_);
}

void neighbour_service::communicator_is_freed() noexcept {
  if (calls_ < kept_trials::many) kept().used(ranks_, calls_);
  slots_.give_up();
}

void neighbour_service::make_slots() {
  slots_.finish(comm_, [this] { return demands(); });
}

void neighbour_service::prepare_start() {
  if (on_one_node_)
    slots_.prepare(
        comm_, [this] { return demands(); },
        [](const remembered& all) { return all.early != 0 ? 0 : agreed_slots::tries; });
}

std::shared_ptr<neighbourhood> neighbour_service::candidate() const noexcept {
  if (lost_) return nullptr;
  return on_one_node_ ? slots_.candidate() : slots_.made();
}

neighbour_service::by neighbour_service::next_start() {
  count_call();
  const bool by_slots = on_one_node_ ? slots_.start(comm_) : slots_.made() != nullptr;
  return by_slots && !lost_ ? by::taquin : by::library;
}

// Where a rank has no memory, or there is no communicator left for taquin, all ranks have the error.
bool neighbour_service::make() {
  if (std::exchange(made_, true)) return call_ || step_ != nullptr;
  try {
    mpi::make_everywhere(comm_, [this] {
      to_send_.reserve(destinations().size());
      to_receive_.reserve(sources().size());
    });
    if (!on_one_node_) return make_step();
    make_slots();
    if (slots() == nullptr) return false;
    mpi::make_everywhere(comm_, [this] { call_.emplace(slots()); });
    return true;
  } catch (const usage_error& e) {
    if (!e.collective()) throw;
  }
  call_.reset();
  return false;
}

// A rank without memory aborts: then no rank has the step.
bool neighbour_service::make_step() {
  try {
    step_ = neighbour_step::make(comm_, sources(), destinations());
  } catch (const error&) {
  } catch (const std::bad_alloc&) {
  }
  if (!mpi::holds_everywhere(step_ != nullptr, comm_)) step_.reset();
  return step_ != nullptr;
}

neighbour_service::by neighbour_service::next_blocking(const taquin::exchange& x) {
  if (blocking_calls_ == 0 && !lost_) recall(x);
  count_call();
  if (lost_) return by::library;
  if (blocking_calls_ > times_.calls()) return next_of_winner();
  const std::uint64_t call = blocking_calls_++;
  if (call < library_calls_) return by::library;
  if (!make()) return without_means();
  if (won_before_) {
    blocking_calls_ = times_.calls() + 1;
    return next_of_winner();
  }
  if (call < times_.calls()) return by::taquin;
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, times_.best().data(), static_cast<int>(times_.best().size()), MPI_DOUBLE,
                            MPI_MAX, comm_));
  lost_ = times_.fastest() == as_size(by::library);
  kept().keep(ranks_, size_, !lost_, times());
  return lost_ ? by::library : by::taquin;
}

namespace {

// Bytes of the longest block that goes to a neighbour. 0 with invalid arguments.
std::uint64_t longest(const blocks& side, const std::vector<int>& peers) {
  count_t most = 0;
  if (!is_valid(side, peers.size())) return 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const count_t count = peers[i] < 0 ? 0 : side.counts[static_cast<int>(i)];
    if (count > 0)
      most = std::max(most, count * (side.types != nullptr ? element::of(side.types[i]) : side.element).size);
  }
  return static_cast<std::uint64_t>(most);
}

}  // namespace

// The outcome for blocks as long as the longest one of any rank, where all ranks remember the same. A bitwise and finds
// the length too: each rank sets the bits from its own class on. Collective.
void neighbour_service::recall(const taquin::exchange& x) {
  constexpr unsigned word = 32;
  const std::uint64_t mine = longest(x.send, destinations());
  const std::uint64_t classes = ~std::uint64_t{0}
                                << std::min<std::size_t>(std::bit_width(mine), kept_trials::kinds - 1);
  const remembered own = kept().recall(ranks_);
  std::array<std::uint64_t, 3> all{own.taquin | std::uint64_t{own.library} << word, own.early, classes};
  mpi::allreduce(std::span<std::uint64_t>(all), MPI_BAND, comm_);
  const remembered agreed{static_cast<std::uint32_t>(all[0]), static_cast<std::uint32_t>(all[0] >> word),
                          static_cast<std::uint32_t>(all[1])};
  size_ = as_size(std::countr_zero(all[2]));
  lost_ = agreed.library_won(size_);
  won_before_ = agreed.taquin_won(size_);
  if (won_before_ && agreed.early != 0) library_calls_ = 0;
  if (!lost_) return;
  const trial_times times = kept().times(ranks_, size_);
  times_.took(as_size(by::library), times.library);
  times_.took(as_size(by::taquin), times.taquin);
}

neighbour_service::by neighbour_service::without_means() noexcept {
  lost_ = true;
  no_means_ = !on_one_node_ ? reasons::several_nodes : slots() == nullptr ? slots_.reason() : reasons::no_memory;
  return by::library;
}

// Steps show all ranks whether any block was a message. The MPI library then does the next calls, and twice as many
// when that is so again.
neighbour_service::by neighbour_service::next_of_winner() noexcept {
  if (step_ == nullptr) return by::taquin;
  if (pause_ == 0 && stepped_) {
    stepped_ = false;
    pause_ = pauses_.after(!step_->had_messages());
  }
  if (pause_ > 0) {
    --pause_;
    return by::library;
  }
  stepped_ = true;
  return by::taquin;
}

void neighbour_service::took(by who, double seconds) noexcept {
  if (blocking_calls_ <= times_.calls()) times_.took(as_size(who), seconds);
}

void neighbour_service::exchange(const blocks& send, const blocks& recv) {
  held_side from(send, destinations().size(), false, std::move(to_send_));
  held_side to(recv, sources().size(), false, std::move(to_receive_));
  mpi::or_abort(step_ != nullptr ? step_->comm() : agreed_slots::messages(), [&] {
    from.stage();
    to.stage();
  });
  if (step_ != nullptr) {
    step_->exchange(from.view(), to.view());
  } else {
    call_->start(from.view(), to.view());
    call_->wait();
  }
  to.deliver();
  to_send_ = std::move(from).elements();
  to_receive_ = std::move(to).elements();
}

outcome neighbour_service::by_taquin() const {
  return step_ != nullptr ? outcome{"neighbour_step", {}, step_->memory()} : by_slots();
}

// The best times of ranks are known of a trial that is decided.
outcome neighbour_service::blocking_by_library() const {
  if (no_means_ != nullptr) return {.reason = no_means_};
  if (lost_) return {.reason = reasons::trial_lost, .trial = times()};
  if (blocking_calls_ > tries) return {.reason = reasons::long_blocks};
  return {.reason = won_before_ ? reasons::first_call : reasons::trial};
}

trial_times neighbour_service::times() const noexcept {
  return {times_.best()[as_size(by::library)], times_.best()[as_size(by::taquin)]};
}

outcome neighbour_service::start_by_library() const {
  if (lost_) return blocking_by_library();
  return {.reason = on_one_node_ ? slots_.reason() : reasons::several_nodes};
}

outcome neighbour_service::by_slots() const { return {"neighbour_slots", {}, slots()->memory()}; }

}  // namespace taquin::interpose
