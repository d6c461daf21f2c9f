#include "taquin/migrate.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "base/memory_budget.hpp"
#include "exchange/agree.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "node/blocking_channel.hpp"
#include "redistribute/block_map.hpp"
#include "redistribute/watched.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

struct migration::state {
  state(std::size_t elements, MPI_Comm user_comm, const redistribute_options& o)
      : user(user_comm), comm(meet(user_comm, o).state->keep()), options(o), budget(o.memory) {
    const in_redistribution during(*comm, name, options);
    // Destinations, indices, and three numbers per rank.
    const std::size_t needed = 2 * sizeof(int) * elements + 3 * sizeof(int) * static_cast<std::size_t>(comm->size());
    std::array<std::uint64_t, 2> lacking{needed > o.memory ? needed : 0, elements > most_elements ? 1U : 0U};
    mpi::allreduce(std::span<std::uint64_t>(lacking), MPI_MAX, comm->get());
    if (lacking[1] > 0) throw usage_error("a rank has more than 2^31 - 2 elements", MPI_ERR_COUNT);
    if (lacking[0] > 0)
      throw budget_exceeded(fmt::format("a migration needs at least {} bytes of extra memory", lacking[0]), lacking[0],
                            0, o.memory);
    ranks.emplace(elements, 0, &budget);
    indices.emplace(elements, 0, &budget);
  }

  // So much extra memory for a while, outside the budget object; throws on all ranks when it is too much on any.
  void allow(std::size_t bytes) {
    const std::size_t needed = bytes > 0 ? budget.used() + bytes : 0;
    std::uint64_t lacking = needed > options.memory ? needed : 0;
    mpi::allreduce(lacking, MPI_MAX, comm->get());
    if (lacking > 0)
      throw budget_exceeded(
          fmt::format("a vector that grows needs {} bytes of extra memory; reserve what it will hold", lacking),
          lacking, budget.used(), options.memory);
    if (options.stats != nullptr) options.stats->peak_memory = std::max(options.stats->peak_memory, needed);
  }

  static constexpr std::size_t most_elements = std::numeric_limits<std::int32_t>::max() - 1;
  MPI_Comm user;
  mpi::communicator::lease comm;
  redistribute_options options;
  memory_budget budget;
  std::optional<std::pmr::vector<int>> ranks;
  std::optional<std::pmr::vector<int>> indices;
  std::size_t arriving = 0;
  std::string_view name = "migrate";
};

migration::migration(std::size_t elements, MPI_Comm comm, const redistribute_options& o) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (mpi::is_inter(comm)) throw usage_error("migration needs an intracommunicator", MPI_ERR_COMM);
  state_ = std::make_unique<state>(elements, comm, o);
}
migration::~migration() = default;

std::span<int> migration::destinations() noexcept { return *state_->ranks; }

std::size_t migration::plan(const char* fault, std::size_t room, std::optional<std::size_t> storage) {
  state& s = *state_;
  const in_redistribution during(*s.comm, s.name, s.options);
  const auto p = static_cast<std::size_t>(s.comm->size());
  std::optional<invalid_argument> bad;
  if (fault != nullptr) bad = invalid_argument{fault};
  for (std::size_t k = 0; !bad && k < s.ranks->size(); ++k)
    if (const int r = (*s.ranks)[k]; r < 0 || r >= s.comm->size())
      bad = invalid_argument{fmt::format("element {} goes to rank {} of {}", k, r, p), MPI_ERR_RANK};
  agree_on_invalid_argument(*s.comm, bad);
  std::pmr::vector<int> out(p, 0, &s.budget);
  std::pmr::vector<int> in(p, 0, &s.budget);
  for (const int r : *s.ranks) ++out[static_cast<std::size_t>(r)];
  mpi::alltoall(std::span<const int>(out), std::span(in), s.comm->get());
  const auto total = std::accumulate(in.begin(), in.end(), std::uint64_t{0});
  if (total > state::most_elements)
    bad = invalid_argument{fmt::format("{} elements go to this rank", total), MPI_ERR_COUNT};
  else if (total > room && !storage)
    bad =
        invalid_argument{fmt::format("{} elements go to this rank, which has room for {}", total, room), MPI_ERR_COUNT};
  agree_on_invalid_argument(*s.comm, bad);
  s.arriving = static_cast<std::size_t>(total);
  s.allow(total > room ? *storage : 0);
  // By source, then by position: every source learns where its elements begin.
  std::exclusive_scan(in.begin(), in.end(), in.begin(), 0);
  mpi::alltoall(std::span<const int>(in), std::span(out), s.comm->get());
  for (std::size_t k = 0; k < s.ranks->size(); ++k) (*s.indices)[k] = out[static_cast<std::size_t>((*s.ranks)[k])]++;
  return s.arriving;
}

void migration::run(void* data, count_t length, MPI_Datatype type) {
  state& s = *state_;
  const std::size_t elements = s.ranks->size();
  redistribute_options o = s.options;
  o.check = false;  // one place per element by construction
  if (o.memory != unlimited) o.memory -= s.budget.used();
  redistribution exchange(data, static_cast<count_t>(std::max(elements, s.arriving)), length, type, s.user, o);
  exchange.sort(*s.ranks, *s.indices);
  exchange(std::span<const int>(*s.ranks), std::span<const int>(*s.indices));
  if (s.options.stats != nullptr)
    s.options.stats->peak_memory = std::max(s.options.stats->peak_memory, s.budget.peak() + exchange.peak_memory());
}

}  // namespace taquin::detail
