#include "redistribute/check_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/arrays.hpp"
#include "base/collective_error.hpp"
#include "base/sizes.hpp"
#include "call/agree.hpp"
#include "mpi/progress.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::optional<invalid_argument> check_arguments(const void* data, count_t blocks, count_t length, MPI_Datatype type,
                                                const redistribute_options& o, const char* invalid_text) {
  if (invalid_text != nullptr) return of_interface(invalid_text);
  if (blocks < 0 || blocks > most_blocks)
    return invalid_argument{fmt::format("{} blocks; 0 to {} are allowed", blocks, most_blocks), MPI_ERR_COUNT};
  if (length < 0) return invalid_argument{fmt::format("the block length must be ≥ 0, got {}", length), MPI_ERR_COUNT};
  if (type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (data == nullptr && blocks > 0 && length > 0) return invalid_argument{"null data", MPI_ERR_BUFFER};
  if (find_redistribution(o.algorithm) == nullptr)
    return invalid_argument{
        fmt::format("unknown algorithm '{}'; known are auto, {}", o.algorithm, redistribution_names())};
  if (o.progress == progress_by::thread && !mpi::can_progress_by_thread())
    return invalid_argument{"progress by a thread needs MPI_THREAD_MULTIPLE, which the MPI library does not provide",
                            MPI_ERR_UNSUPPORTED_OPERATION};
  if (!(o.timeout >= 0))
    return invalid_argument{fmt::format("timeout must be ≥ 0 seconds, got {}", static_cast<float>(o.timeout))};
  if (o.in_flight < 0) return invalid_argument{fmt::format("in_flight must be ≥ 0, got {}", o.in_flight)};
  if (!(o.least_progress >= 0 && o.least_progress <= 1))
    return invalid_argument{fmt::format("least_progress must be between 0 and 1, got {}", o.least_progress)};
  return std::nullopt;
}

std::optional<invalid_argument> check_ranges(const given_map& map, std::span<const count_t> units, int rank) {
  const auto blocks = [&](count_t r) { return units[as_size(r)] / map.parts; };
  const count_t mine = blocks(rank);
  if (map.length < 0 || map.length > mine)
    return invalid_argument{fmt::format("there are destinations for {} blocks, but the array has {}", map.length, mine),
                            MPI_ERR_COUNT, -1};
  if (map.invalid_text != nullptr) return invalid_argument{map.invalid_text, MPI_ERR_COUNT, -1};
  if (map.length > 0 && (map.ranks.missing() || map.indices.missing()))
    return invalid_argument{"null destinations", MPI_ERR_ARG, -1};
  for (count_t k = 0; k < map.length; ++k) {
    const count_t r = map.ranks[static_cast<int>(k)];
    if (r == -1) continue;
    if (r < 0 || r >= static_cast<count_t>(units.size()))
      return invalid_argument{fmt::format("block {} goes to rank {} of {}", k, r, units.size()), MPI_ERR_RANK, -1};
    const count_t i = map.indices[static_cast<int>(k)];
    if (i < 0 || i >= blocks(r))
      return invalid_argument{
          fmt::format("block {} goes to index {} of rank {}, whose array has {} blocks", k, i, r, blocks(r)),
          MPI_ERR_ARG, static_cast<int>(r)};
  }
  return std::nullopt;
}

void check_sort(std::span<const int> dest_ranks, std::size_t indices, count_t blocks, int ranks) {
  if (static_cast<count_t>(dest_ranks.size()) != blocks || indices != dest_ranks.size())
    throw usage_error(fmt::format("{} ranks and {} indices for {} blocks: sorting takes one of each for every block, "
                                  "with rank -1 for a dead one",
                                  dest_ranks.size(), indices, blocks),
                      MPI_ERR_COUNT);
  for (std::size_t k = 0; k < dest_ranks.size(); ++k)
    if (dest_ranks[k] < -1 || dest_ranks[k] >= ranks)
      throw usage_error(fmt::format("block {} goes to rank {}; ranks are 0 to {}, or -1 for a dead block", k,
                                    dest_ranks[k], ranks - 1),
                        MPI_ERR_RANK);
}

namespace {

// Two blocks for one place. Each is named by its rank and its number among that rank's blocks for this one.
struct clash {
  std::int32_t rank = -1;  // whose place it is
  slot place = 0;
  std::array<std::int32_t, 2> from{};
  std::array<std::uint32_t, 2> number{};
};

// This rank's own block first, then in the order of ranks.
std::optional<clash> named(int rank, const targets& t) {
  if (!t.wanted_twice) return std::nullopt;
  clash c{rank, t.wanted_twice->place, {}, t.wanted_twice->number};
  std::ranges::sort(c.number, {}, [&](std::uint32_t n) { return std::pair(t.source_of(n) != rank, n); });
  for (std::size_t i = 0; i < 2; ++i) {
    c.from[i] = t.source_of(c.number[i]);
    c.number[i] -= t.in_at[as_size(c.from[i])];
  }
  return c;
}

}  // namespace

task agree_on(machine& m, const std::optional<invalid_argument>& invalid) {
  std::array<std::uint64_t, 1> invalid_rank{invalid ? static_cast<std::uint64_t>(m.rank) + 1 : 0};
  co_await m.net->maximum(invalid_rank);
  if (invalid_rank[0] == 0) co_return;
  using words = std::array<word, sizeof(invalid_argument_record) / sizeof(word)>;
  const auto rank = static_cast<int>(invalid_rank[0]) - 1;
  auto reported = std::bit_cast<words>(report(invalid));
  co_await m.net->share(rank, reported);
  refuse(rank, std::bit_cast<invalid_argument_record>(reported));
}

task check_injective(machine& m, const targets& t) {
  const auto mine = named(m.rank, t);
  std::array<std::uint64_t, 1> invalid_rank{mine ? static_cast<std::uint64_t>(m.rank) + 1 : 0};
  co_await m.net->maximum(invalid_rank);
  if (invalid_rank[0] == 0) co_return;
  const auto rank = static_cast<int>(invalid_rank[0]) - 1;
  using words = std::array<word, sizeof(clash) / sizeof(word)>;
  auto reported = std::bit_cast<words>(mine.value_or(clash{}));
  co_await m.net->share(rank, reported);
  auto c = std::bit_cast<clash>(reported);
  for (std::size_t i = 0; i < 2; ++i) {  // the owners know which blocks these are
    if (c.from[i] == m.rank) c.number[i] = t.order[t.out_at[as_size(rank)] + c.number[i]];
    co_await m.net->share(c.from[i], std::span(&c.number[i], 1));
  }
  throw_on_all_ranks([&] {
    return usage_error(
        fmt::format("block {} of rank {} and block {} of rank {} both go to index {} of rank {}", c.number[0] / m.parts,
                    c.from[0], c.number[1] / m.parts, c.from[1], c.place / m.parts, rank),
        MPI_ERR_ARG, c.from[1], rank);
  });
}

}  // namespace taquin::detail
