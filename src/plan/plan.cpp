// The public functions of a blocking exchange and of a plan; how a plan starts, waits and ends.
#include "taquin/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include "base/environment.hpp"
#include "base/lasting_chunk.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "call/failure_map.hpp"
#include "mpi/abort_call.hpp"
#include "node/blocking_channel.hpp"
#include "plan/on_node.hpp"
#include "plan/plan_state.hpp"
#include "plan/preparation.hpp"
#include "plan/propose.hpp"
#include "route/route.hpp"
#include "select/choose.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/in_place.hpp"

namespace taquin::detail {

std::uint64_t call_word_of(const exchange& x) noexcept {
  return static_cast<std::uint64_t>(x.kind) << 1U | (x.in_place ? mpi::progress_record::in_place : 0);
}

std::size_t elements_needed(const exchange& x, int ranks) {
  if (x.kind != exchange::form::alltoallw || invalid_exchange::of(x) != nullptr) return 0;
  return elements_of_types(x.in_place && x.symmetric, ranks);
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

plan_state::plan_state(const exchange& x, const options& o, bool reused)
    : running(call_word_of(x) | (reused ? mpi::progress_record::plan : 0), call_timeout::of(o), o.stats),
      budget(o.memory, &pool),
      elements(&budget),
      types(&budget) {}

void plan_state::begin(const exchange& x, const options& given, bool lacks_memory) {
  options o = given;
  if (environment::get().invalid_argument.empty()) o.progress = progress_of(given);
  by_thread = o.progress == progress_by::thread;
  preparation(*this, x, o, running.is_plan()).run(lacks_memory);
}

// After an error that makes this rank abort the call, late messages could be written into buffers that the program has
// freed.
template <class Step>
auto plan_state::or_drop(Step step) {
  try {
    return step();
  } catch (...) {
    if (running.lost()) {
      tuned = nullptr;
      prepared.reset();
    }
    throw;
  }
}

void plan_state::start() {
  running.check_idle("the plan");
  or_drop([&] { running.start([&]() -> operation& { return *prepared; }, by_thread); });
  if (tuned != nullptr) chosen = tuned->running();
}

bool plan_state::test() {
  if (!running.in_progress()) return true;
  if (!or_drop([&] { return running.test(); })) return false;
  end();
  return true;
}

void plan_state::wait() {
  if (!running.in_progress()) return;
  or_drop([&] { running.wait(); });
  end();
}

void plan_state::run() {
  running.check_idle("the plan");
  if (running.is_plan()) running.count();
  or_drop([&] {
    running.stage([&] {
      try {
        prepared->run();
      } catch (const error&) {
        if (tuned != nullptr) chosen = tuned->running();
        throw;
      }
    });
  });
  const mpi::communicator* const comm = running.comm();
  chooser* const choices = running.is_plan() || comm == nullptr ? nullptr : chooser::find(*comm);
  if (choices != nullptr) choices->took(PMPI_Wtime() - started_at);
  if (tuned != nullptr) chosen = tuned->running();
  end();
}

void plan_state::end() {
  running.algorithm = chosen->name;
  running.account([&](statistics& s) { prepared->account(s); }, budget.peak());
}

}  // namespace taquin::detail

namespace taquin {

plan::plan(const exchange& x, const options& o) {
  detail::check_communicator(x.comm);
  state_ = detail::begin_together<detail::plan_state>(x, o, true);
}
plan::plan(plan&&) noexcept = default;
plan& plan::operator=(plan&&) noexcept = default;
plan::~plan() = default;

void plan::start() { state_->start(); }
bool plan::test() { return state_->test(); }
void plan::wait() { state_->wait(); }
void plan::run() { state_->run(); }
std::string_view plan::algorithm() const noexcept { return state_->chosen->name; }
std::size_t plan::memory() const noexcept { return state_->budget.used(); }
std::size_t plan::peak_memory() const noexcept { return state_->budget.peak(); }

bool detail::completes_alone(const plan& p) noexcept {
  const plan_state& s = *p.state_;
  const auto ends = s.chosen->ends_by_itself;
  return s.by_thread || (ends != nullptr && ends(s.shape, {}, s.shape.memory_limit));
}

namespace {

// The step of a blocking call.
detail::step_result run_step(const exchange& x, const options& o) {
  const auto leave = [&](const std::exception& why) { detail::abort_call(x.comm, why); };
  auto done = mpi::or_abort(leave, [&]() -> detail::step_result {
    if (detail::call_timeout::of(o).seconds > 0 && mpi::communicator::find(x.comm) == nullptr) [[unlikely]]
      return {"the set-up stage of the first call has the timeout"};
    // This rejects a failed communicator.
    detail::channel* const node = detail::blocking_channel(x.comm);
    if (detail::route_of({.has_step = node != nullptr}, detail::call_use::blocking) != detail::route::step)
      return {"the communicator has no step on a node"};
    return detail::run_step_on_node(x, o, *node);
  });
  if (done.error_at_end) [[unlikely]]
    std::rethrow_exception(done.error_at_end);
  return done;
}

// The state of a blocking call, in memory that can outlive it.
class blocking_state {
 public:
  blocking_state(const exchange& x, const options& o) {
    static_assert(alignof(detail::plan_state) <= alignof(std::max_align_t));
    if (piece_.data() != nullptr) state_ = new (piece_.data()) detail::plan_state(x, o, false);
  }
  blocking_state(const blocking_state&) = delete;
  blocking_state& operator=(const blocking_state&) = delete;
  ~blocking_state() {
    if (state_ != nullptr && detail::plan_state::destroy(*state_)) piece_.keep();
  }
  [[nodiscard]] detail::plan_state* get() const noexcept { return state_; }

 private:
  static constexpr std::size_t pieces = 8;  // calls of as many threads at the same time
  detail::lasting_chunk<sizeof(detail::plan_state), pieces> piece_;
  detail::plan_state* state_ = nullptr;
};

// Runs a call that the step has left. False: the step can do it, now that the profile is read and refused.
bool run_as_plan(const exchange& x, const options& o, bool fits_step) {
  const blocking_state state(x, o);
  if (state.get() == nullptr) {
    detail::plan_state(x, o, false).begin(x, o, true);  // which throws on all ranks
    return true;
  }
  state.get()->fits_step = fits_step;
  state.get()->begin(x, o, false);
  if (state.get()->again) return false;
  state.get()->run();
  return true;
}

}  // namespace

void run(const exchange& x, const options& o) {
  detail::check_communicator(x.comm);
  if (x.in_place) detail::forget_map();
  detail::step_result step = run_step(x, o);
  if (step.continues_because == nullptr || run_as_plan(x, o, step.fits)) return;
  step = run_step(x, o);
  if (step.continues_because != nullptr) run_as_plan(x, o, false);
}

void alltoall(const void* sendbuf, count_t sendcount, MPI_Datatype sendtype, void* recvbuf, count_t recvcount,
              MPI_Datatype recvtype, MPI_Comm comm, const options& o) {
  run(exchange::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), o);
}

void alltoallv(const void* sendbuf, const count_t sendcounts[], const count_t sdispls[], MPI_Datatype sendtype,
               void* recvbuf, const count_t recvcounts[], const count_t rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
               const options& o) {
  run(exchange::alltoallv(sendbuf, count_view(sendcounts), count_view(sdispls), sendtype, recvbuf,
                          count_view(recvcounts), count_view(rdispls), recvtype, comm),
      o);
}

void alltoallw(const void* sendbuf, const count_t sendcounts[], const count_t sdispls[], const MPI_Datatype sendtypes[],
               void* recvbuf, const count_t recvcounts[], const count_t rdispls[], const MPI_Datatype recvtypes[],
               MPI_Comm comm, const options& o) {
  run(exchange::alltoallw(sendbuf, count_view(sendcounts), count_view(sdispls), sendtypes, recvbuf,
                          count_view(recvcounts), count_view(rdispls), recvtypes, comm),
      o);
}

void alltoallv_in_place(void* buffer, const count_t sendcounts[], const count_t sdispls[], const count_t recvcounts[],
                        const count_t rdispls[], MPI_Datatype type, MPI_Comm comm, const options& o) {
  run(exchange::alltoallv_in_place(buffer, count_view(sendcounts), count_view(sdispls), count_view(recvcounts),
                                   count_view(rdispls), type, comm),
      o);
}

}  // namespace taquin
