#include "redistribute/numbers.hpp"

#include <algorithm>

#include "mpi/observer.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

bool numbers_exchange::operator()(const numbers& mine, numbers& come, memory_budget& budget) {
  const unobserved part_of_another_call;
  statistics done;
  options o;
  o.stats = &done;
  o.timeout = choices.timeout;
  o.on_timeout = choices.on_timeout;
  o.in_flight = choices.in_flight;
  // The exchange counts 36 bytes for each number that comes, of which `come` takes 8 more.
  if (const std::size_t left = budget.limit() - budget.used(); budget.limit() != unlimited) o.memory = left - left / 5;
  const std::size_t before = budget.used();
  bool failed = false;
  const auto room = [&](const sparse_call& call) -> void* {
    failed = true;
    come.ranks.assign(call.sources().begin(), call.sources().end());
    come.values.resize(come.ranks.size());
    failed = false;
    return come.values.data();
  };
  const sparse_blocks blocks{mine.values.data(), mine.ranks, count_view(1, 0), MPI_INT};
  try {
    static_cast<void>(sparse_access::make(blocks, comm, o, nullptr, room));
  } catch (const usage_error& e) {
    if (e.collective() || e.mpi_class() != MPI_ERR_NO_MEM) throw;
    failed = true;
  } catch (const budget_exceeded& e) {
    if (!e.collective()) throw;
    const std::size_t least = e.requested() + e.used();
    lacking = before + least + least / 4 + 1;
    return false;
  }
  peak = std::max(peak, before + done.peak_memory);
  return !failed;
}

}  // namespace taquin::detail
