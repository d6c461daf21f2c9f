#include "harness/cases.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "harness/errors.hpp"
#include "mpi/check.hpp"
#include "workloads/shapes.hpp"

namespace taquin::harness {

namespace {

// MPI_COMM_NULL on ranks outside.
MPI_Comm make_communicator(const std::vector<int>& members) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
  TAQUIN_MPI(MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group));
  TAQUIN_MPI(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
  TAQUIN_MPI(MPI_Group_free(&group));
  TAQUIN_MPI(MPI_Group_free(&world));
  return comm;
}

// A graph of the ranks that exchange; MPI_COMM_NULL outside of the communicator.
MPI_Comm make_graph(MPI_Comm comm, const std::vector<count_t>& sent, const std::vector<count_t>& received) {
  if (comm == MPI_COMM_NULL) return MPI_COMM_NULL;
  const auto ranks_with = [](const std::vector<count_t>& bytes) {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] > 0) ranks.push_back(static_cast<int>(i));
    return ranks;
  };
  const auto to = ranks_with(sent);
  const auto from = ranks_with(received);
  const std::vector<int> weights(std::max(to.size(), from.size()) + 1, 1);
  MPI_Comm graph = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Dist_graph_create_adjacent(comm, static_cast<int>(from.size()), from.data(), weights.data(),
                                            static_cast<int>(to.size()), to.data(), weights.data(), MPI_INFO_NULL, 0,
                                            &graph));
  return graph;
}

bool among_neighbours(workloads::call_kind kind) {
  return kind >= workloads::call_kind::neighbor_alltoall && kind <= workloads::call_kind::neighbor_alltoallw;
}

// MPI's rules for such calls; an edited file may break them.
void check_call(const workloads::byte_matrix& m, const workloads::recorded_call& call) {
  const auto& flows = m.flows();
  const auto ranks = detail::as_size(m.ranks());
  const bool uniform =
      flows.empty() || (flows.size() == ranks * ranks &&
                        std::ranges::all_of(flows, [&](const auto& f) { return f.bytes == flows.front().bytes; }));
  if (call.kind == workloads::call_kind::alltoall && !uniform)
    throw failure("the recording has an alltoall whose blocks differ in size");
  if (call.in_place && !std::ranges::all_of(flows, [&](const auto& f) { return m.at(f.to, f.from) == f.bytes; }))
    throw failure("the recording has a call in place that does not receive as much as it sends");
}

}  // namespace

test_case::test_case(const workloads::workload& w, exchange::form kind, buffering how, count_t bytes_per_rank,
                     std::uint64_t seed) {
  workloads::problem_size size{.bytes = bytes_per_rank, .seed = seed};
  int rank = 0;
  TAQUIN_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size.ranks));
  TAQUIN_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  calls_.emplace_back(MPI_COMM_WORLD, kind, how, w.row(size, rank), w.column(size, rank));
}

test_case::test_case(const workloads::traffic& t, bool one_buffer) {
  std::vector<int> everyone(detail::as_size(t.ranks));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<MPI_Comm> comms;
  for (const auto& members : t.communicators) {
    comms.push_back(members == everyone ? MPI_COMM_WORLD : make_communicator(members));
    if (comms.back() != MPI_COMM_WORLD && comms.back() != MPI_COMM_NULL) owned_.push_back(comms.back());
  }
  std::map<std::pair<std::size_t, std::size_t>, MPI_Comm> graphs;  // by communicator and matrix
  for (const auto& call : t.calls) {
    MPI_Comm comm = comms[call.communicator];
    const auto& matrix = t.matrices[call.matrix];
    check_call(matrix, call);
    std::vector<count_t> sent;
    std::vector<count_t> received;
    if (comm != MPI_COMM_NULL) {
      int rank = 0;
      TAQUIN_MPI(MPI_Comm_rank(comm, &rank));
      sent = matrix.sent_by(rank);
      received = matrix.received_by(rank);
    }
    const auto kind = one_buffer ? exchange::form::alltoallv : workloads::form_of(call.kind);
    const auto how = one_buffer ? buffering::one_buffer : (call.in_place ? buffering::in_place : buffering::separate);
    how_called called;
    if (!one_buffer) called = {call.form, call.in_flight, MPI_COMM_NULL};
    if (!one_buffer && among_neighbours(call.kind)) {
      const auto [graph, fresh] = graphs.try_emplace({call.communicator, call.matrix}, MPI_COMM_NULL);
      if (fresh) graph->second = make_graph(comm, sent, received);
      if (fresh && comm != MPI_COMM_NULL) owned_.push_back(graph->second);
      called.neighbours = graph->second;
    }
    calls_.emplace_back(comm, kind, how, std::move(sent), std::move(received), call.repeats, called);
  }
}

test_case::~test_case() {
  for (MPI_Comm& comm : owned_) MPI_Comm_free(&comm);
}

count_t test_case::bytes_per_rank() const {
  count_t most = 0;
  for (const problem& p : calls_) most = std::max(most, p.bytes_sent());
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  return most;
}

std::vector<std::string> test_case::served_by() const {
  const auto all = detail::algorithms();
  std::vector<int> serves(all.size(), 0);
  for (const problem& p : calls_) {
    if (!p.takes_part()) continue;
    const auto shape = p.shape();
    for (std::size_t i = 0; i < all.size(); ++i) serves[i] |= all[i]->supports(shape) ? 1 : 0;
  }
  TAQUIN_MPI(
      MPI_Allreduce(MPI_IN_PLACE, serves.data(), static_cast<int>(serves.size()), MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (serves[i] != 0 && all[i]->name != "native") names.emplace_back(all[i]->name);
  return names;
}

}  // namespace taquin::harness
