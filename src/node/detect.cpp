#include "node/detect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string_view>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "mpi/collectives.hpp"
#include "mpi/failure.hpp"
#include "mpi/groups.hpp"
#include "node/mapping.hpp"
#include "node/offers.hpp"

namespace taquin::detail {

// The attribute of a communicator's state that holds its nodes.
struct nodes_kept_as {
  inline static const mpi::slot<const node_view> found;  // or described by TAQUIN_NODES
  inline static const mpi::slot<const node_view> given;  // by a call's options, the last ones
};

namespace {

/// The ranks of `comm` as ranks of MPI_COMM_WORLD, MPI_UNDEFINED for those that are not in it.
std::vector<int> world_ranks(MPI_Comm comm, int size) {
  std::vector<int> theirs(as_size(size));
  mpi::translate_ranks(comm, 0, MPI_COMM_WORLD, theirs);
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
    for (const int rank : ranks) mine.push_back(world.nodes().group[as_size(rank)]);
    return mine;
  };
  topology t{{level::of("node", colours(environment::get().nodes))}};
  for (const auto& sizes : environment::get().groups) t.refine("group", colours(sizes));
  return t;
}

// The record that each rank publishes of its location.
struct place {
  std::uint64_t machine = host_id();
  binding bound = binding_of_process();
};

// The lowest rank on each rank's machine.
std::vector<int> first_ranks(std::span<const place> all) {
  std::map<std::uint64_t, int> first;
  std::vector<int> of(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    of[rank] = first.try_emplace(all[rank].machine, static_cast<int>(rank)).first->second;
  return of;
}

node_view find_out(const mpi::communicator& comm) {
  const place mine;
  std::vector<place> all(as_size(comm.size()));
  node_view view;
  view.bookkeeping.resize(channel::bookkeeping(comm.size()));
  mpi::allgather(mine, std::span(all), comm.get());
  view.topology.levels.push_back(level::of("node", first_ranks(all)));
  view.local = split_by_nodes(comm, view.topology);
  const auto refine = [&](std::string_view name, int binding::*number) {
    if (!std::ranges::all_of(all, [&](const place& p) { return p.bound.*number >= 0; })) return;
    std::vector<int> colours(all.size());
    std::ranges::transform(all, colours.begin(), [&](const place& p) { return p.bound.*number; });
    view.topology.refine(name, colours);
  };
  refine("package", &binding::package);
  refine("l3", &binding::cache);
  return view;
}

}  // namespace

mpi::owned_comm split_by_nodes(const mpi::communicator& comm, const topology& t) {
  const auto members = t.nodes().members(t.nodes().group[as_size(comm.rank())]);
  const auto create = [&] { return mpi::create_groups(comm, members); };
  // A rank that is alone on its node waits for no other.
  const bool alone = t.nodes().largest() == 1 && !mpi::survives_failures();
  return alone ? create() : mpi::together(comm.get(), create);
}

std::optional<invalid_argument> check_nodes(const mpi::communicator& comm, std::span<const int> option) {
  if (!option.empty()) return check_sizes_of_nodes(option, comm.size(), "options.nodes");
  const auto& sizes = environment::get().nodes;
  if (sizes.empty() || comm.kept.has(nodes_kept_as::found)) return std::nullopt;  // else they were checked before
  int world = 0;
  TAQUIN_MPI(PMPI_Comm_size(MPI_COMM_WORLD, &world));
  if (auto invalid = check_sizes_of_nodes(sizes, world, "TAQUIN_NODES")) return invalid;
  for (const auto& inner : environment::get().groups)
    if (auto invalid = check_sizes_of_nodes(inner, world, "TAQUIN_NODES' groups")) return invalid;
  const auto ranks = world_ranks(comm.get(), comm.size());
  if (std::ranges::find(ranks, MPI_UNDEFINED) != ranks.end())
    return invalid_argument{"TAQUIN_NODES does not cover ranks outside MPI_COMM_WORLD"};
  return std::nullopt;
}

namespace {

std::shared_ptr<const node_view> given_view(const mpi::communicator& comm, topology&& t, std::span<const int> sizes) {
  node_view view;
  view.bookkeeping.resize(channel::bookkeeping(comm.size()));
  view.given.assign(sizes.begin(), sizes.end());
  view.local = split_by_nodes(comm, t);
  view.topology = std::move(t);
  return std::make_shared<const node_view>(std::move(view));
}

}  // namespace

channel* channel_of_node(const node_view& view) {
  if (!view.reading_tried) {
    view.reading_tried = true;
    int ranks = 1;
    TAQUIN_MPI(PMPI_Comm_size(view.local.get(), &ranks));
    std::pmr::monotonic_buffer_resource memory(view.bookkeeping.data(), view.bookkeeping.size(),
                                               std::pmr::null_memory_resource());
    if (ranks > 1)
      view.reading =
          channel::make(view.local.get(), node_offers::bytes(ranks), environment::get().shared_memory, &memory);
    view.bookkeeping = {};
  }
  return view.reading.empty() || !view.reading.single_copies() ? nullptr : &view.reading;
}

std::shared_ptr<const node_view> nodes_of(mpi::communicator& comm, std::span<const int> option) {
  if (option.empty()) {
    if (!comm.kept.has(nodes_kept_as::found))
      comm.kept.put(nodes_kept_as::found, environment::get().nodes.empty()
                                              ? std::make_shared<const node_view>(find_out(comm))
                                              : given_view(comm, from_environment(comm), {}));
    return comm.kept.share(nodes_kept_as::found);
  }
  const node_view* const last = comm.kept.get(nodes_kept_as::given);
  if (last == nullptr || !std::ranges::equal(last->given, option))
    comm.kept.put(nodes_kept_as::given, given_view(comm, topology::of_sizes(option), option));
  return comm.kept.share(nodes_kept_as::given);
}

const node_view* known_nodes(const mpi::communicator& comm) noexcept { return comm.kept.get(nodes_kept_as::found); }

std::vector<int> first_ranks_of_machines(MPI_Comm comm) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_size(comm, &ranks));
  std::vector<place> all;
  std::vector<int> first;
  mpi::make_everywhere(comm, [&] { all.resize(as_size(ranks)); });
  mpi::allgather(place(), std::span(all), comm);
  mpi::make_everywhere(comm, [&] { first = first_ranks(all); });
  return first;
}

std::vector<int> ranks_of_node(MPI_Comm world) {
  int ranks = 1;
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_size(world, &ranks));
  TAQUIN_MPI(PMPI_Comm_rank(world, &rank));
  const auto& given = environment::get().nodes;
  if (!given.empty() && check_sizes_of_nodes(given, ranks, "TAQUIN_NODES")) return {};
  const std::vector<int> found = given.empty() ? first_ranks_of_machines(world) : std::vector<int>();
  std::vector<int> here;
  mpi::make_everywhere(world, [&] {
    const level nodes = given.empty() ? level::of("node", found) : topology::of_sizes(given).nodes();
    const auto mine = nodes.members(nodes.group[as_size(rank)]);
    here.assign(mine.begin(), mine.end());
  });
  return here;
}

}  // namespace taquin::detail
