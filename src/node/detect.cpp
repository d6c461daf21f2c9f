#include "node/detect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/environment.hpp"
#include "mpi/collectives.hpp"

namespace taquin::detail {

namespace {

/// The ranks of `comm` as ranks of MPI_COMM_WORLD, MPI_UNDEFINED for those that are not in it.
std::vector<int> world_ranks(MPI_Comm comm, int size) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  TAQUIN_MPI(MPI_Comm_group(comm, &group));
  TAQUIN_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
  std::vector<int> mine(static_cast<std::size_t>(size));
  std::vector<int> theirs(mine.size());
  std::iota(mine.begin(), mine.end(), 0);
  TAQUIN_MPI(MPI_Group_translate_ranks(group, size, mine.data(), world, theirs.data()));
  TAQUIN_MPI(MPI_Group_free(&group));
  TAQUIN_MPI(MPI_Group_free(&world));
  return theirs;
}

std::optional<invalid_argument> check_sizes_of_nodes(std::span<const int> sizes, int ranks, const char* what) {
  for (const int size : sizes)
    if (size < 1) return invalid_argument{fmt::format("{} {}: a node of {} ranks", what, fmt::join(sizes, ","), size)};
  const auto sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (sum != ranks)
    return invalid_argument{
        fmt::format("{} {}: {} ranks on nodes, {} ranks in the communicator", what, fmt::join(sizes, ","), sum, ranks)};
  return std::nullopt;
}

topology from_environment(const mpi::communicator& comm) {
  const auto ranks = world_ranks(comm.get(), comm.size());
  const auto colours = [&](std::span<const int> sizes) {
    const auto world = topology::of_sizes(sizes);
    std::vector<int> mine;
    mine.reserve(ranks.size());
    for (const int rank : ranks) mine.push_back(world.nodes().group[static_cast<std::size_t>(rank)]);
    return mine;
  };
  topology t{{level::of("node", colours(environment::get().nodes))}};
  for (const auto& sizes : environment::get().groups) t.refine("group", colours(sizes));
  return t;
}

// By the machine's name, and by the number that its kernel has had since it was started: not below zero. Takes no memory,
// which a rank might lack while others wait for it.
int colour_of_machine() {
  constexpr std::size_t boot_bytes = 36;
  std::array<char, MPI_MAX_PROCESSOR_NAME + boot_bytes> text{};
  int length = 0;
  TAQUIN_MPI(MPI_Get_processor_name(text.data(), &length));
  auto bytes = static_cast<std::size_t>(length);
#ifndef TAQUIN_SMPI  // whose machines have names alone
  if (const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
    bytes += static_cast<std::size_t>(std::max<ssize_t>(read(file, text.data() + bytes, boot_bytes), 0));
    close(file);
  }
#endif
  return static_cast<int>(std::hash<std::string_view>{}({text.data(), bytes}) >> 33U);
}

// The ranks of `comm` on this rank's machine, in rank order.
MPI_Comm split_by_machine(MPI_Comm comm, int rank) {
  MPI_Comm local = MPI_COMM_NULL;
  mpi::barrier(comm);
#ifndef TAQUIN_SMPI  // whose split by type takes in all ranks of a machine, also those that are not in `comm`
  TAQUIN_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local));
  int ranks = 1;
  TAQUIN_MPI(MPI_Comm_size(local, &ranks));
  // Debian's MPICH 5.0.2 knows no two ranks of one machine: its launcher does not tell it.
  if (!mpi::holds_everywhere(ranks == 1, comm)) return local;
  TAQUIN_MPI(MPI_Comm_free(&local));
#endif
  TAQUIN_MPI(MPI_Comm_split(comm, colour_of_machine(), rank, &local));
  return local;
}

node_view find_out(const mpi::communicator& comm) {
  const MPI_Comm local = split_by_machine(comm.get(), comm.rank());
  node_view view;
  view.local = mpi::owned_comm(local);
  const binding bound = binding_of_process();
  constexpr int facts = 3;  // the node's lowest rank, package, cache
  std::array<int, facts> mine{comm.rank(), bound.package, bound.cache};
  mpi::broadcast(std::span(mine).first(1), 0, local);
  const auto p = static_cast<std::size_t>(comm.size());
  std::vector<int> all(facts * p);
  mpi::allgather(std::span<const int>(mine), std::span(all), comm.get());
  std::array<std::vector<int>, facts> colours;
  for (std::size_t i = 0; i < all.size(); ++i) colours[i % facts].push_back(all[i]);
  view.topology.levels.push_back(level::of("node", colours[0]));
  const auto known = [](int c) { return c >= 0; };
  if (std::ranges::all_of(colours[1], known)) view.topology.refine("package", colours[1]);
  if (std::ranges::all_of(colours[2], known)) view.topology.refine("l3", colours[2]);
  return view;
}

}  // namespace

mpi::owned_comm split_by_nodes(const mpi::communicator& comm, const topology& t) {
  MPI_Comm local = MPI_COMM_NULL;
  const int node = t.nodes().group[static_cast<std::size_t>(comm.rank())];
  mpi::barrier(comm.get());
  TAQUIN_MPI(MPI_Comm_split(comm.get(), node, comm.rank(), &local));
  return mpi::owned_comm(local);
}

std::optional<invalid_argument> check_nodes(const mpi::communicator& comm, std::span<const int> option) {
  if (!option.empty()) return check_sizes_of_nodes(option, comm.size(), "options.nodes");
  const auto& sizes = environment::get().nodes;
  if (sizes.empty()) return std::nullopt;
  int world = 0;
  TAQUIN_MPI(MPI_Comm_size(MPI_COMM_WORLD, &world));
  if (auto bad = check_sizes_of_nodes(sizes, world, "TAQUIN_NODES")) return bad;
  for (const auto& inner : environment::get().groups)
    if (auto bad = check_sizes_of_nodes(inner, world, "TAQUIN_NODES' groups")) return bad;
  const auto ranks = world_ranks(comm.get(), comm.size());
  if (std::ranges::find(ranks, MPI_UNDEFINED) != ranks.end())
    return invalid_argument{"TAQUIN_NODES does not cover ranks outside MPI_COMM_WORLD"};
  return std::nullopt;
}

std::shared_ptr<const node_view> nodes_of(mpi::communicator& comm, std::span<const int> option) {
  if (option.empty()) {
    if (comm.nodes == nullptr) {
      if (environment::get().nodes.empty()) {
        comm.nodes = std::make_shared<const node_view>(find_out(comm));
      } else {
        topology t = from_environment(comm);
        auto local = split_by_nodes(comm, t);
        comm.nodes = std::make_shared<const node_view>(node_view{std::move(t), std::move(local), {}});
      }
    }
    return comm.nodes;
  }
  if (comm.given_nodes == nullptr || !std::ranges::equal(comm.given_nodes->given, option)) {
    topology t = topology::of_sizes(option);
    auto local = split_by_nodes(comm, t);
    comm.given_nodes =
        std::make_shared<const node_view>(node_view{std::move(t), std::move(local), {option.begin(), option.end()}});
  }
  return comm.given_nodes;
}

std::vector<int> first_ranks_of_machines(MPI_Comm comm) {
  int rank = 0;
  int ranks = 1;
  TAQUIN_MPI(MPI_Comm_rank(comm, &rank));
  TAQUIN_MPI(MPI_Comm_size(comm, &ranks));
  const mpi::owned_comm local(split_by_machine(comm, rank));
  int first = rank;
  mpi::broadcast(std::span(&first, 1), 0, local.get());
  std::vector<int> all(static_cast<std::size_t>(ranks));
  mpi::allgather(first, std::span(all), comm);
  return all;
}

}  // namespace taquin::detail
