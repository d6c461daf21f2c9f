// The public collectives: validate together, build, execute.
#include "taquin/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "call/call.hpp"
#include "datatypes/committed.hpp"
#include "datatypes/typed_copy.hpp"
#include "mpi/big_count.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/user_code.hpp"
#include "schedule/collectives.hpp"
#include "schedule/executor.hpp"
#include "schedule/pattern_call.hpp"
#include "schedule/permutations.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

std::optional<invalid_argument> check(const pattern_call& c, int ranks) {
  if (c.invalid_text != nullptr) return of_interface(c.invalid_text);
  if (c.count < 0) return invalid_argument{fmt::format("negative count {}", c.count), MPI_ERR_COUNT};
  if (c.root < 0 || c.root >= ranks)
    return invalid_argument{fmt::format("root {} is no rank; ranks are 0 to {}", c.root, ranks - 1), MPI_ERR_ROOT};
  if (c.type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (const char* const text = invalid_text_of(c.type)) return of_interface(text);
  if ((c.reads && c.send == MPI_IN_PLACE) || (c.writes && c.recv == MPI_IN_PLACE))
    return invalid_argument{"MPI_IN_PLACE: collectives have two buffers here", MPI_ERR_BUFFER};
  if (c.count > 0 && c.reads && c.send == nullptr) return invalid_argument{"null send buffer", MPI_ERR_BUFFER};
  if (c.count > 0 && c.writes && c.recv == nullptr) return invalid_argument{"null receive buffer", MPI_ERR_BUFFER};
  return std::nullopt;
}

mpi::communicator& state_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (mpi::is_inter(comm)) throw usage_error("patterns do not serve intercommunicators", MPI_ERR_COMM);
  call entered(0, {}, nullptr);
  entered.set_up(comm);
  return *mpi::communicator::find(comm);
}

void execute(const pattern_call& c, mpi::communicator& comm) {
  memory_budget memory;
  const element e = element::of(c.type);
  executor run(build_collective(c.what, comm.rank(), comm.size(), c.root, c.count, e, &memory),
               {comm.get(), comm.next_tag(), const_cast<void*>(c.send), c.recv, false, c.op}, &memory);
  run.start();
  run.wait();
}

}  // namespace

void run_pattern(pattern_call c, MPI_Comm comm) {
  auto& state = state_of(comm);
  if (c.what == collective::barrier) return execute(c, state);
  const bool is_root = state.rank() == c.root;
  if (c.what == collective::broadcast) c.reads = false;
  if (c.what == collective::reduce || c.what == collective::gather) c.writes = is_root;
  if (c.what == collective::scatter) c.reads = is_root;
  agree_on_invalid_argument(state, check(c, state.size()));
  const mpi::user_code operators(state.calls());
  execute(c, state);
}

void run_permutation(patterns::permutation kind, int by, const pattern_call& c, MPI_Comm comm) {
  auto& state = state_of(comm);
  auto invalid = check(c, state.size());
  if (!invalid && kind == patterns::permutation::hypercube && by < 0)
    invalid = invalid_argument{fmt::format("a hypercube permutation needs a number ≥ 0, got {}", by), MPI_ERR_ARG};
  agree_on_invalid_argument(state, invalid);
  memory_budget memory;
  executor run(permute(kind, ordering::together, state.rank(), state.size(), by, c.count, element::of(c.type), &memory),
               {state.get(), state.next_tag(), const_cast<void*>(c.send), c.recv}, &memory);
  run.start();
  run.wait();
}

// Local prefixes, then a scan of the ranks' totals, then each rank prepends the sum of the ranks before it. A rank
// without elements has no total of its own: it forwards the sum from before, so empty ranks are left out of the scan by
// a communicator of the others.
void scan_all_elements(const pattern_call& c, MPI_Comm comm) {
  const count_t count = c.count;
  const MPI_Datatype type = c.type;
  const MPI_Op op = c.op;
  auto& state = state_of(comm);
  agree_on_invalid_argument(state, check(c, state.size()));
  MPI_Comm filled = MPI_COMM_NULL;
  mpi::barrier(state.get());
  TAQUIN_MPI(PMPI_Comm_split(state.get(), count > 0 ? 0 : MPI_UNDEFINED, state.rank(), &filled));
  if (count == 0) return;
  const mpi::user_code operators(state.calls());
  const element e = element::of(type);
  const auto* from = static_cast<const std::byte*>(c.send);
  auto* to = static_cast<std::byte*>(c.recv);
  typed_copy(from, count, e, to, count, e);
  for (count_t i = 1; i < count; ++i)
    TAQUIN_MPI(PMPI_Reduce_local(to + (i - 1) * e.extent, to + i * e.extent, 1, type, op));
  const auto span = as_size(std::max(e.true_extent, e.extent) + std::abs(e.true_lb));
  std::vector<std::byte> totals(2 * span);
  std::byte* mine = totals.data() + std::max<count_t>(0, -e.true_lb);
  std::byte* before = mine + span;
  typed_copy(to + (count - 1) * e.extent, 1, e, mine, 1, e);
  auto& group = mpi::communicator::get_or_create(filled);
  execute({collective::scan, mine, before, 1, type, op}, group);
  // The scan includes this rank: its predecessor's result is the sum of the ranks before.
  const int next = group.rank() + 1 < group.size() ? group.rank() + 1 : MPI_PROC_NULL;
  const int previous = group.rank() > 0 ? group.rank() - 1 : MPI_PROC_NULL;
  TAQUIN_MPI(PMPI_Sendrecv(before, 1, type, next, 0, mine, 1, type, previous, 0, group.get(), MPI_STATUS_IGNORE));
  if (group.rank() > 0)
    for (count_t i = 0; i < count; ++i) TAQUIN_MPI(PMPI_Reduce_local(mine, to + i * e.extent, 1, type, op));
  TAQUIN_MPI(PMPI_Comm_free(&filled));
}

}  // namespace taquin::detail

namespace taquin::patterns {

using detail::collective;

void barrier(MPI_Comm comm) {
  detail::run_pattern({.what = collective::barrier, .reads = false, .writes = false}, comm);
}

void permute(permutation kind, int by, const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Comm comm) {
  detail::run_permutation(
      kind, by, {.what = collective::barrier, .send = send, .recv = recv, .count = count, .type = type}, comm);
}

void broadcast(void* buffer, count_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  detail::run_pattern({.what = collective::broadcast, .recv = buffer, .count = count, .type = type, .root = root},
                      comm);
}

void reduce(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  detail::run_pattern({collective::reduce, send, recv, count, type, op, root}, comm);
}

void allreduce(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  detail::run_pattern({collective::allreduce, send, recv, count, type, op}, comm);
}

void gather(const void* send, void* recv, count_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  detail::run_pattern({collective::gather, send, recv, count, type, MPI_OP_NULL, root}, comm);
}

void allgather(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Comm comm) {
  detail::run_pattern({collective::allgather, send, recv, count, type}, comm);
}

void scatter(const void* send, void* recv, count_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  detail::run_pattern({collective::scatter, send, recv, count, type, MPI_OP_NULL, root}, comm);
}

void scan(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  detail::run_pattern({collective::scan, send, recv, count, type, op}, comm);
}

void scan_elements(const void* send, void* recv, count_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  detail::scan_all_elements({collective::scan, send, recv, count, type, op}, comm);
}

}  // namespace taquin::patterns
