#include "redistribute/check_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::optional<invalid_argument> check_ranges(const given_map& map, std::span<const count_t> blocks, int rank) {
  const count_t mine = blocks[static_cast<std::size_t>(rank)];
  if (map.length < 0 || map.length > mine)
    return invalid_argument{fmt::format("destinations for {} blocks, the array has {}", map.length, mine),
                            MPI_ERR_COUNT, -1};
  if (!map.same_length) return invalid_argument{"not one index for each rank of the destinations", MPI_ERR_COUNT, -1};
  if (map.length > 0 && (map.ranks.missing() || map.indices.missing()))
    return invalid_argument{"null destinations", MPI_ERR_ARG, -1};
  for (count_t k = 0; k < map.length; ++k) {
    const count_t r = map.ranks[static_cast<int>(k)];
    if (r == -1) continue;
    if (r < 0 || r >= static_cast<count_t>(blocks.size()))
      return invalid_argument{fmt::format("block {} goes to rank {} of {}", k, r, blocks.size()), MPI_ERR_RANK, -1};
    const count_t i = map.indices[static_cast<int>(k)];
    if (i < 0 || i >= blocks[static_cast<std::size_t>(r)])
      return invalid_argument{fmt::format("block {} goes to index {} of rank {}, whose array has {} blocks", k, i, r,
                                          blocks[static_cast<std::size_t>(r)]),
                              MPI_ERR_ARG, static_cast<int>(r)};
  }
  return std::nullopt;
}

namespace {

// Two blocks for one place, each as its rank and its number among the blocks of that rank for the culprit.
struct clash {
  std::int32_t rank = -1;  // whose place it is
  slot place = 0;
  std::array<std::int32_t, 2> from{};
  std::array<std::uint32_t, 2> number{};
};

int source_of(const targets& t, std::uint32_t k) {
  return static_cast<int>(std::ranges::upper_bound(t.in_at, k) - t.in_at.begin()) - 1;
}

// The second block of a clash is found by the bitmap; the first one only when there is a clash, by a search.
std::optional<clash> find_clash(int rank, const block_map& map, const targets& t, std::pmr::memory_resource* memory) {
  const slot blocks = map.store().blocks();
  std::pmr::vector<bool> taken(blocks, false, memory);
  std::optional<clash> found;
  const auto take = [&](slot x, int from, std::uint32_t number) {
    if (!found && taken[x]) found = clash{rank, x, {0, from}, {0, number}};
    taken[x] = true;
  };
  for (slot s = 0; s < blocks; ++s)
    if (map[s].rank == rank) take(map[s].index, rank, s);
  for (std::uint32_t k = 0; k < t.index.size() && !found; ++k) {
    if (!taken[t.index[k]]) {
      taken[t.index[k]] = true;
      continue;
    }
    const int s = source_of(t, k);
    take(t.index[k], s, k - t.in_at[static_cast<std::size_t>(s)]);
  }
  if (!found) return found;
  for (slot s = 0; s < blocks; ++s)
    if (map[s].rank == rank && map[s].index == found->place) {
      found->from[0] = rank;
      found->number[0] = s;
      return found;
    }
  const auto first = static_cast<std::uint32_t>(std::ranges::find(t.index, found->place) - t.index.begin());
  found->from[0] = source_of(t, first);
  found->number[0] = first - t.in_at[static_cast<std::size_t>(found->from[0])];
  return found;
}

}  // namespace

void check_injective(mpi::communicator& comm, const block_map& map, const targets& t,
                     std::pmr::memory_resource* memory) {
  const auto mine = find_clash(comm.rank(), map, t, memory);
  int culprit = mine ? comm.rank() : -1;
  if (comm.size() > 1) TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &culprit, 1, MPI_INT, MPI_MAX, comm.get()));
  if (culprit < 0) return;
  clash c = mine.value_or(clash{});
  TAQUIN_MPI(MPI_Bcast(&c, sizeof c, MPI_BYTE, culprit, comm.get()));
  for (std::size_t i = 0; i < 2; ++i) {  // the owners know which blocks these are
    if (c.from[i] == comm.rank() && comm.rank() != culprit)
      c.number[i] = t.order[t.out_at[static_cast<std::size_t>(culprit)] + c.number[i]];
    TAQUIN_MPI(MPI_Bcast(&c.number[i], 1, MPI_UINT32_T, c.from[i], comm.get()));
  }
  throw usage_error(fmt::format("block {} of rank {} and block {} of rank {} both go to index {} of rank {}",
                                c.number[0], c.from[0], c.number[1], c.from[1], c.place, culprit),
                    MPI_ERR_ARG, c.from[1], culprit);
}

}  // namespace taquin::detail
