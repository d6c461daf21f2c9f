#include "interpose/serve/route.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "c/translate.hpp"
#include "interpose/say.hpp"
#include "interpose/serve/site_rules.hpp"
#include "interpose/serve/worlds.hpp"
#include "mpi/communicator.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"

namespace taquin::interpose {

namespace {

std::atomic<bool> running{false};     // between MPI_Init and MPI_Finalize, with the same settings on all ranks
std::atomic<bool> switched_on{true};  // by MPI_Pcontrol

// Once per process, on the rank 0 of the communicator where it happens first.
void warn_once(std::atomic<bool>& said, MPI_Comm comm, const std::string& text) {
  if (said.exchange(true)) return;
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (rank == 0) print_message(text);
}

}  // namespace

bool served(MPI_Comm comm) noexcept {
  if (!running || !switched_on || comm == MPI_COMM_NULL) return false;
  int inter = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return false;
  try {
    return in_one_world(comm);
  } catch (const std::exception&) {  // the MPI library reports the error
    return false;
  }
}

void count_passed_on(workloads::call_form form) noexcept {
  if (running) count(switched_on ? other_call::outside : other_call::switched_off, form);
}

void begin_service() noexcept { running = true; }

bool in_service() noexcept { return running; }

void end_service() noexcept { running = false; }

void switch_service(bool on) noexcept { switched_on = on; }

void report_warnings() noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    for (const std::string& line : settings::get().warnings) print_message(line);
}

namespace {

std::atomic<bool> said_fallback{false};

// Why taquin does not serve `x`, for a report and, once, on standard error. A rank without memory for the text does the
// same as the others.
template <class Text>
void report_fallback(const exchange& x, outcome* what_became, bool warned, Text text) noexcept {
  try {
    const std::string what = text();
    if (what_became != nullptr) what_became->reason = keep_reason(what);
    if (warned) warn_once(said_fallback, x.comm, what + "; such calls go to the MPI library");
  } catch (const std::bad_alloc&) {
  }
}

// Whether taquin can serve `x`: the same on all ranks.
template <class Do>
bool can(const exchange& x, outcome* what_became, Do&& attempt) {
  const settings& s = settings::get();
  try {
    attempt();
    return true;
  } catch (const budget_exceeded& e) {
    if (!e.collective()) throw;  // the other ranks are in the exchange
    // Where taquin chooses, the user has not named the algorithm that did not fit: the message names the limit instead.
    report_fallback(x, what_became, true, [&] {
      return detail::environment::get().algorithm.empty()
                 ? "no algorithm fits within the " + std::to_string(s.memory) +
                       " bytes of TAQUIN_MEMORY; the least of them needs " + std::to_string(e.used() + e.requested())
                 : std::string(e.what());
    });
  } catch (const usage_error& e) {
    if (!e.collective()) throw;
    // Nothing was requested where taquin chooses: an exchange in place that no algorithm serves is the MPI
    // library's, as it would be without this library.
    const bool unserved = e.mpi_class() == MPI_ERR_UNSUPPORTED_OPERATION;
    const bool requested_for = !x.in_place || !detail::environment::get().algorithm.empty();
    const bool lacks_memory = e.mpi_class() == MPI_ERR_NO_MEM;  // of a rank, before the data moved
    report_fallback(x, what_became, lacks_memory || (unserved && requested_for), [&] { return std::string(e.what()); });
    if (!unserved && !lacks_memory && e.mpi_class() != MPI_ERR_BUFFER &&
        std::string_view(e.what()).find(device_memory) == std::string_view::npos)
      throw;
  }
  return false;
}

}  // namespace

bool run_through(const exchange& x, const void* site, outcome* what_became) {
  return can(x, what_became, [&] {
    options o;
    o.memory = settings::get().memory;
    statistics stats;
    if (what_became != nullptr) o.stats = &stats;
    const auto run_once = [&] { run(x, o); };
    if (has_site_rules())
      by_rules_of(site, std::cref(run_once));
    else
      run_once();
    if (what_became == nullptr) return;
    what_became->algorithm = stats.algorithm;
    if (stats.algorithm == "native") what_became->reason = reasons::chosen;
    what_became->peak_memory = stats.peak_memory;
  });
}

bool make_through(const exchange& x, const void* site, outcome* what_became, const std::function<void()>& make) {
  return can(x, what_became, [&] { by_rules_of(site, make); });
}

namespace {

bool all_ranks_fail() noexcept {
  try {
    throw;
  } catch (const error& e) {
    return e.collective();
  } catch (...) {
    return false;
  }
}

}  // namespace

int raise(MPI_Comm comm, int code) noexcept { return detail::raise(comm, code); }

int fail(MPI_Comm comm) noexcept {
  const int code = detail::code_of_current_exception();
  // A fatal handler shows the code alone: the text comes first, and from one rank when it is the same on all, before
  // another rank's abort can end this one.
  const bool all = all_ranks_fail();
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (!all || rank == 0) detail::print_if_fatal(comm);
  if (all) PMPI_Barrier(comm);
  return detail::call_errhandler(comm, code);
}

}  // namespace taquin::interpose
