#include "interpose/serve/persistent_service.hpp"

#include <mpi.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/collective_error.hpp"
#include "base/environment.hpp"
#include "interpose/reasons.hpp"
#include "mpi/abort_call.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "plan/plan_state.hpp"
#include "select/choose.hpp"
#include "taquin/error.hpp"

namespace taquin::interpose {

namespace {

// The places of both ways' times.
constexpr std::size_t library = 0;
constexpr std::size_t taquin = 1;
constexpr int candidates = 2;

// Makes a plan. A rank may lack memory alone, after ranks have agreed: then all ranks have an error. Collective.
template <class Make>
void on_every_rank(MPI_Comm comm, Make make_plan) {
  mpi::communicator& state = mpi::communicator::get_or_create(comm);
  std::exception_ptr own;
  try {
    mpi::or_abort(state, make_plan);
  } catch (const error& e) {
    if (e.collective()) throw;
    own = std::current_exception();
  } catch (const std::bad_alloc&) {
    own = std::current_exception();
  }
  if (mpi::holds_everywhere(own == nullptr, comm)) return;
  if (own != nullptr) std::rethrow_exception(own);
  for (mpi::backoff waiting;; waiting.pause()) state.check_for_aborts();  // the notice is on its way
}

}  // namespace

std::unique_ptr<persistent_service> persistent_service::make(const exchange& x, std::size_t memory, bool measured) {
  std::optional<plan> made;
  on_every_rank(x.comm, [&] { made.emplace(x, options{.memory = memory}); });
  plan& p = *made;
  if (p.algorithm() == "native") return nullptr;
  if (!detail::completes_alone(p))
    detail::throw_on_all_ranks([&] {
      return usage_error("algorithm '" + std::string(p.algorithm()) +
                             "' needs its rank between the start of a persistent call and its completion "
                             "(TAQUIN_PROGRESS_THREAD=1 does without)",
                         MPI_ERR_UNSUPPORTED_OPERATION);
    });
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(x.comm, &ranks));
  std::unique_ptr<persistent_service> both;
  mpi::make_everywhere(x.comm, [&] {
    both.reset(new persistent_service(std::move(p)));
    both->all_.resize(static_cast<std::size_t>(ranks) * candidates);
  });
  both->decided_ =
      !measured || detail::chooser::get_or_create(mpi::communicator::get_or_create(x.comm)).followed_rule();
  if (both->decided_) return both;
  both->mine_ = detail::trial(candidates, tries, detail::trial::order::in_turn);
  const std::size_t taken = both->plan_.peak_memory() + both->all_.size() * sizeof(double);
  const count_view counts(candidates, 0);
  const auto times = exchange::alltoallv(both->mine_.best().data(), counts, count_view(0, 0), MPI_DOUBLE,
                                         both->all_.data(), counts, count_view(0, candidates), MPI_DOUBLE, x.comm);
  const std::size_t left = memory == unlimited ? unlimited : memory - std::min(memory, taken);
  on_every_rank(x.comm, [&] { both->publishing_.emplace(times, options{.algorithm = "spread_out", .memory = left}); });
  return both;
}

bool persistent_service::reports() const noexcept { return !decided_ && starts_ == mine_.calls(); }

bool persistent_service::is_next() {
  if (decided_) return wins_;
  return reports() || mine_.candidate(starts_) == taquin;
}

void persistent_service::start() {
  if (reports()) publishing_->start();
  plan_.start();
  done_ = false;
}

// An error of the exchange is thrown only when the others have this rank's times.
bool persistent_service::test() {
  try {
    done_ = done_ || plan_.test();
  } catch (...) {
    failure_ = std::current_exception();
    done_ = true;
  }
  if (!done_ || (reports() && !publishing_->test())) return false;
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

void persistent_service::wait() {
  try {
    if (!done_) plan_.wait();
  } catch (...) {
    failure_ = std::current_exception();
  }
  done_ = true;
  if (reports()) publishing_->wait();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void persistent_service::completed(double seconds) {
  if (decided_) return;
  if (starts_ < mine_.calls()) {
    mine_.took(mine_.candidate(starts_++), seconds);
    return;
  }
  decided_ = true;
  wins_ = mine_.decide(all_) == taquin;
  times_ = {mine_.best()[library], mine_.best()[taquin]};
  publishing_.reset();
}

outcome persistent_service::by_taquin() const { return {plan_.algorithm(), {}, plan_.peak_memory()}; }

outcome persistent_service::by_library() const {
  return lost() ? outcome{.reason = reasons::trial_lost, .trial = times_} : outcome{.reason = reasons::trial};
}

}  // namespace taquin::interpose
