#include "taquin/plan.hpp"

#include "call/call.hpp"
#include "call/failure_map.hpp"
#include "mpi/leave.hpp"
#include "node/blocking_channel.hpp"
#include "plan/call.hpp"
#include "plan/plan_state.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/in_place.hpp"

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

bool run(const exchange& x, const options& o, bool unasked) {
  detail::check_communicator(x.comm);
  if (x.in_place) detail::forget_map();
  const auto on_node = mpi::or_leave([&](const std::exception& why) { detail::leave(x.comm, why); },
                                     [&] { return detail::run_on_node(x, o, unasked); });
  if (on_node.error_at_end) [[unlikely]]
    std::rethrow_exception(on_node.error_at_end);
  if (on_node.served || on_node.left_to_caller) return on_node.served;
  detail::plan_state state(x, o, false);
  state.begin(x, o, false);
  state.run();
  return true;
}

}  // namespace

void run(const exchange& x, const options& o) { run(x, o, false); }
bool detail::run_or_leave(const exchange& x, const options& o) { return run(x, o, true); }

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
