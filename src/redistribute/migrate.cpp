#include "taquin/migrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "base/fingerprint.hpp"
#include "base/memory_budget.hpp"
#include "base/sizes.hpp"
#include "call/call.hpp"
#include "mpi/user_code.hpp"
#include "redistribute/access.hpp"
#include "redistribute/block_map.hpp"
#include "redistribute/choices.hpp"
#include "redistribute/numbers.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

struct migration::state {
  state(MPI_Comm user_comm, const redistribute_options& o, std::size_t number_of_elements)
      : running(facts, patience_of(o), nullptr),
        user(user_comm),
        elements(number_of_elements),
        options(o),
        budget(o.memory) {}

  void begin(MPI_Comm comm, const redistribute_options& o, bool lacks_memory) {
    running.algorithm = "migrate";
    running.meet(comm);
    running.stage([&] {
      // Destinations, indices, and a number per rank.
      const std::size_t needed = 2 * sizeof(int) * elements + sizeof(int) * as_size(running.comm()->size());
      proposal p;
      if (lacks_memory) p.invalid = out_of_memory();
      if (elements > most_elements)
        p.invalid =
            invalid_argument{fmt::format("{} elements; 0 to {} are allowed", elements, most_elements), MPI_ERR_COUNT};
      if (!p.invalid && needed <= o.memory) try {
          ranks.emplace(elements, 0, &budget);
          indices.emplace(elements, 0, &budget);
        } catch (const std::bad_alloc&) {
          p.invalid = out_of_memory();
        }
      fingerprint choices;
      choices.add(running.algorithm);
      p.choices = choices.value();
      p.algorithm = running.algorithm;
      running.agree(p, &budget);
      running.agree_again({.lacking = needed > o.memory ? needed : 0, .limit = o.memory}, "a migration");
    });
  }

  // In a stage: a rank that throws alone leaves the migration.
  std::size_t plan(const char* invalid_text, std::size_t room, std::optional<std::size_t> storage);
  bool tell(numbers_exchange& exchange, const numbers& mine, numbers& come);
  [[noreturn]] void refuse_limit(std::size_t needed);
  // From here to the next stage the caller fills in destinations or lets its container grow, by functions of the
  // program.
  void let_caller_work() { callers_work.emplace(running.comm()->calls()); }
  call::findings count(const char* invalid_text);

  static constexpr std::uint64_t facts = mpi::whereabouts::of(mpi::call_kind::migration);
  static constexpr std::size_t most_elements = std::numeric_limits<std::int32_t>::max() - 1;
  call running;
  MPI_Comm user;
  std::size_t elements;
  redistribute_options options;
  memory_budget budget;
  std::optional<std::pmr::vector<int>> ranks;
  std::optional<std::pmr::vector<int>> indices;
  std::optional<std::pmr::vector<int>> next;  // of each rank: elements for it, then where its next one goes
  numbers leave{&budget};
  numbers begin_at{&budget};
  std::size_t arriving = 0;
  bool any_grows = false;  // on any rank: the same on all
  std::optional<mpi::user_code> callers_work;
};

migration::migration(std::size_t elements, MPI_Comm comm, const redistribute_options& o) {
  check_communicator(comm, "migration");
  state_ = begin_together<state>(comm, o, elements);
  state_->let_caller_work();
}
migration::~migration() = default;

std::span<int> migration::destinations() noexcept { return *state_->ranks; }

std::size_t migration::plan(const char* invalid_text, std::size_t room, std::optional<std::size_t> storage) {
  state_->callers_work.reset();
  const std::size_t arriving = state_->running.stage([&] { return state_->plan(invalid_text, room, storage); });
  state_->let_caller_work();
  return arriving;
}

// The ranks that elements go to, and how many to each.
call::findings migration::state::count(const char* invalid_text) {
  const int p = running.comm()->size();
  if (invalid_text != nullptr) return {.invalid = invalid_argument{invalid_text}};
  for (std::size_t k = 0; k < ranks->size(); ++k)
    if (const int r = (*ranks)[k]; r < 0 || r >= p)
      return {.invalid = invalid_argument{fmt::format("element {} goes to rank {} of {}", k, r, p), MPI_ERR_RANK}};
  try {
    next.emplace(as_size(p), 0, &budget);
    for (const int r : *ranks) ++(*next)[as_size(r)];
    const auto peers = as_size(p) - as_size(std::ranges::count(*next, 0));
    for (auto list : {&numbers::ranks, &numbers::values}) (leave.*list).reserve(peers);
    for (auto list : {&numbers::ranks, &numbers::values}) (begin_at.*list).reserve(peers);
  } catch (const budget_exceeded& e) {
    return {.lacking = e.used() + e.requested(), .limit = options.memory};
  } catch (const std::bad_alloc&) {
    return {.invalid = out_of_memory(), .limit = options.memory};
  }
  for (int r = 0; r < p; ++r) {
    if ((*next)[as_size(r)] == 0) continue;
    leave.ranks.push_back(r);
    leave.values.push_back((*next)[as_size(r)]);
  }
  return {.limit = options.memory};
}

// A part of the migration was refused on all ranks, which have taken different amounts before it. All have the need of
// the one that needs most.
void migration::state::refuse_limit(std::size_t needed) {
  running.agree_again({.lacking = needed, .limit = options.memory}, "a migration");
  throw std::logic_error("a limit that suffices was refused");
}

bool migration::state::tell(numbers_exchange& exchange, const numbers& mine, numbers& come) {
  const bool told = exchange(mine, come, budget);
  if (exchange.lacking > 0) refuse_limit(exchange.lacking);
  return told;
}

std::size_t migration::state::plan(const char* invalid_text, std::size_t room, std::optional<std::size_t> storage) {
  numbers come(&budget);
  running.agree_again(count(invalid_text), "a migration");
  numbers_exchange exchange{user, options};
  std::optional<invalid_argument> invalid;
  if (!tell(exchange, leave, come)) invalid = out_of_memory();
  const auto total = std::accumulate(come.values.begin(), come.values.end(), std::uint64_t{0});
  if (!invalid && total > most_elements)
    invalid = invalid_argument{fmt::format("{} elements go to this rank", total), MPI_ERR_COUNT};
  else if (!invalid && total > room && !storage)
    invalid =
        invalid_argument{fmt::format("{} elements go to this rank, which has room for {}", total, room), MPI_ERR_COUNT};
  arriving = as_size(total);
  // The old storage, which is there until the vector has grown; the budget object does not count it.
  const std::size_t needed = !invalid && total > room ? budget.used() + *storage : 0;
  any_grows = running.agree_again({.invalid = invalid,
                                   .lacking = needed > options.memory ? needed : 0,
                                   .limit = options.memory,
                                   .any = arriving > ranks->size()},
                                  "a vector that grows, and for which nothing was reserved,");
  // By source, then by position: every source learns where its elements begin.
  std::exclusive_scan(come.values.begin(), come.values.end(), come.values.begin(), 0);
  // There is memory for the numbers, but not for all that the exchange takes: then this rank leaves the migration.
  if (!tell(exchange, come, begin_at)) throw std::bad_alloc();
  for (std::size_t i = 0; i < begin_at.ranks.size(); ++i) (*next)[as_size(begin_at.ranks[i])] = begin_at.values[i];
  for (std::size_t k = 0; k < ranks->size(); ++k) (*indices)[k] = (*next)[as_size((*ranks)[k])]++;
  if (options.stats != nullptr)
    options.stats->peak_memory = std::max({options.stats->peak_memory, needed, exchange.peak});
  next.reset();
  for (numbers* n : {&leave, &begin_at}) *n = numbers(&budget);
  return arriving;
}

void migration::ready(const char* invalid_text, int mpi_class) {
  state& s = *state_;
  s.callers_work.reset();
  if (!s.any_grows) return;
  s.running.stage([&] {
    std::optional<invalid_argument> invalid;
    if (invalid_text != nullptr) invalid = invalid_argument{invalid_text, mpi_class};
    s.running.agree_again({.invalid = invalid}, "a migration");
  });
}

void migration::run(void* data, count_t length, MPI_Datatype type) {
  state& s = *state_;
  s.callers_work.reset();
  const std::size_t elements = s.ranks->size();
  redistribute_options o = s.options;
  o.check = false;  // one place per element by construction
  if (o.memory != unlimited) o.memory -= s.budget.used();
  std::optional<redistribution> made;
  try {
    made.emplace(data, static_cast<count_t>(std::max(elements, s.arriving)), length, type, s.user, o);
  } catch (const budget_exceeded& e) {
    if (!e.collective()) throw;
    s.running.stage([&] { s.refuse_limit(s.budget.used() + e.used() + e.requested()); });
  }
  redistribution& exchange = *made;
  s.running.stage([&] { redistribution_access::sort(exchange, *s.ranks, *s.indices); });
  exchange(std::span<const int>(*s.ranks), std::span<const int>(*s.indices));
  if (s.options.stats != nullptr)
    s.options.stats->peak_memory = std::max(s.options.stats->peak_memory, s.budget.peak() + exchange.peak_memory());
}

}  // namespace taquin::detail
