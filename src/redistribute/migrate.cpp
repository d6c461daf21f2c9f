#include "taquin/migrate.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <new>
#include <numeric>
#include <optional>

#include "base/memory_budget.hpp"
#include "exchange/agree.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/communicator.hpp"
#include "mpi/leave.hpp"
#include "node/blocking_channel.hpp"
#include "redistribute/access.hpp"
#include "redistribute/block_map.hpp"
#include "redistribute/watched.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

struct migration::state {
  state(std::size_t elements, MPI_Comm user_comm, const redistribute_options& o, bool lacks_memory)
      : user(user_comm), comm(meet(user_comm, o).state->keep()), options(o), budget(o.memory) {
    const in_redistribution during(*comm, name, options);
    // Destinations, indices, and three numbers per rank.
    const std::size_t needed = 2 * sizeof(int) * elements + 3 * sizeof(int) * static_cast<std::size_t>(comm->size());
    const bool allowed = needed <= o.memory && elements <= most_elements;
    if (allowed && !lacks_memory) try {
        ranks.emplace(elements, 0, &budget);
        indices.emplace(elements, 0, &budget);
      } catch (const std::bad_alloc&) {
        lacks_memory = true;
      }
    std::array<std::uint64_t, 3> lacking{needed > o.memory ? needed : 0, elements > most_elements ? 1U : 0U,
                                         lacks_memory ? 1U : 0U};
    mpi::allreduce(std::span<std::uint64_t>(lacking), MPI_MAX, comm->get());
    if (lacking[2] > 0) throw on_all_ranks(usage_error("out of memory on a rank", MPI_ERR_NO_MEM));
    if (lacking[1] > 0) throw on_all_ranks(usage_error("a rank has more than 2^31 - 2 elements", MPI_ERR_COUNT));
    if (lacking[0] > 0)
      throw on_all_ranks(budget_exceeded(fmt::format("a migration needs at least {} bytes of extra memory", lacking[0]),
                                         lacking[0], 0, o.memory));
  }

  // So much extra memory for a while, outside the budget object; throws on all ranks when it is too much on any.
  void allow(std::size_t bytes) {
    const std::size_t needed = bytes > 0 ? budget.used() + bytes : 0;
    std::array<std::uint64_t, 2> told{needed > options.memory ? needed : 0, arriving > ranks->size() ? 1U : 0U};
    mpi::allreduce(std::span<std::uint64_t>(told), MPI_MAX, comm->get());
    if (told[0] > 0)
      throw on_all_ranks(budget_exceeded(
          fmt::format("a vector that grows needs {} bytes of extra memory; reserve what it will hold", told[0]),
          told[0], budget.used(), options.memory));
    any_grows = told[1] > 0;
    if (options.stats != nullptr) options.stats->peak_memory = std::max(options.stats->peak_memory, needed);
  }

  std::size_t plan(const char* fault, std::size_t room, std::optional<std::size_t> storage);

  static constexpr std::size_t most_elements = std::numeric_limits<std::int32_t>::max() - 1;
  MPI_Comm user;
  mpi::communicator::lease comm;
  redistribute_options options;
  memory_budget budget;
  std::optional<std::pmr::vector<int>> ranks;
  std::optional<std::pmr::vector<int>> indices;
  std::size_t arriving = 0;
  bool any_grows = false;  // on any rank: the same on all
  std::string_view name = "migrate";
};

migration::migration(std::size_t elements, MPI_Comm comm, const redistribute_options& o) {
  if (comm == MPI_COMM_NULL) throw usage_error("null communicator", MPI_ERR_COMM);
  if (mpi::is_inter(comm)) throw usage_error("migration needs an intracommunicator", MPI_ERR_COMM);
  mpi::or_leave([&](const std::exception& why) { leave(comm, why); },
                [&] { state_ = make_together<state>(elements, comm, o); });
}
migration::~migration() = default;

std::span<int> migration::destinations() noexcept { return *state_->ranks; }

std::size_t migration::plan(const char* fault, std::size_t room, std::optional<std::size_t> storage) {
  return mpi::or_leave(*state_->comm, [&] { return state_->plan(fault, room, storage); });
}

std::size_t migration::state::plan(const char* fault, std::size_t room, std::optional<std::size_t> storage) {
  const in_redistribution during(*comm, name, options);
  const auto p = static_cast<std::size_t>(comm->size());
  std::optional<invalid_argument> bad;
  if (fault != nullptr) bad = invalid_argument{fault};
  for (std::size_t k = 0; !bad && k < ranks->size(); ++k)
    if (const int r = (*ranks)[k]; r < 0 || r >= comm->size())
      bad = invalid_argument{fmt::format("element {} goes to rank {} of {}", k, r, p), MPI_ERR_RANK};
  std::pmr::vector<int> out(&budget);
  std::pmr::vector<int> in(&budget);
  if (!bad) try {
      out.resize(p);
      in.resize(p);
    } catch (const std::bad_alloc&) {
      bad = out_of_memory();
    }
  agree_on_invalid_argument(*comm, bad);
  for (const int r : *ranks) ++out[static_cast<std::size_t>(r)];
  mpi::alltoall(std::span<const int>(out), std::span(in), comm->get());
  const auto total = std::accumulate(in.begin(), in.end(), std::uint64_t{0});
  if (total > state::most_elements)
    bad = invalid_argument{fmt::format("{} elements go to this rank", total), MPI_ERR_COUNT};
  else if (total > room && !storage)
    bad =
        invalid_argument{fmt::format("{} elements go to this rank, which has room for {}", total, room), MPI_ERR_COUNT};
  agree_on_invalid_argument(*comm, bad);
  arriving = static_cast<std::size_t>(total);
  allow(total > room ? *storage : 0);
  // By source, then by position: every source learns where its elements begin.
  std::exclusive_scan(in.begin(), in.end(), in.begin(), 0);
  mpi::alltoall(std::span<const int>(in), std::span(out), comm->get());
  for (std::size_t k = 0; k < ranks->size(); ++k) (*indices)[k] = out[static_cast<std::size_t>((*ranks)[k])]++;
  return arriving;
}

void migration::ready(const char* fault, int mpi_class) {
  state& s = *state_;
  if (!s.any_grows) return;
  mpi::or_leave(*s.comm, [&] {
    const in_redistribution during(*s.comm, s.name, s.options);
    std::optional<invalid_argument> bad;
    if (fault != nullptr) bad = invalid_argument{fault, mpi_class};
    agree_on_invalid_argument(*s.comm, bad);
  });
}

void migration::run(void* data, count_t length, MPI_Datatype type) {
  state& s = *state_;
  const std::size_t elements = s.ranks->size();
  redistribute_options o = s.options;
  o.check = false;  // one place per element by construction
  if (o.memory != unlimited) o.memory -= s.budget.used();
  redistribution exchange(data, static_cast<count_t>(std::max(elements, s.arriving)), length, type, s.user, o);
  mpi::or_leave(*s.comm, [&] { redistribution_access::sort(exchange, *s.ranks, *s.indices); });
  exchange(std::span<const int>(*s.ranks), std::span<const int>(*s.indices));
  if (s.options.stats != nullptr)
    s.options.stats->peak_memory = std::max(s.options.stats->peak_memory, s.budget.peak() + exchange.peak_memory());
}

}  // namespace taquin::detail
