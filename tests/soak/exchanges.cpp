#include "soak/exchanges.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <optional>

#include "taquin/alltoall.hpp"

namespace taquin::soak {

void start(plan& p, buffers& mine, std::uint64_t salt) {
  mine.fill(salt);
  p.start();
}

void complete(plan& p, bool by_tests) {
  if (!by_tests) return p.wait();
  while (!p.test()) sched_yield();
}

namespace {

std::string compare(buffers& mine, const char* what, const turn& t) {
  t.doing("compare");
  const std::size_t wrong = mine.wrong();
  if (t.rank == 0) ++t.sum->exchanges;
  if (wrong == 0) return {};
  t.sum->wrong_bytes += wrong;
  return fmt::format("{} wrong bytes after {}", wrong, what);
}

std::string run_call(const recipe& r, const turn& t, buffers& mine) {
  std::string fault;
  statistics stats;
  mine.fill(1);
  const exchange x = mine.given(t.comm);
  const auto used = with_limit(
      r.memory, r.seed, fault, *t.sum,
      [&](std::size_t bytes) {
        options o = options_of(r);
        o.memory = bytes;
        o.stats = &stats;
        t.doing("call");
        run(x, o);
      },
      [&] { return mine.untouched(); });
  if (!fault.empty()) return fault;
  if (stats.peak_memory > used)
    return fmt::format("{} bytes taken by {}, {} allowed", stats.peak_memory, stats.algorithm, used);
  return compare(mine, "a call", t);
}

std::string run_plan(const recipe& r, const turn& t, buffers& mine) {
  std::string fault;
  std::optional<plan> made;
  mine.fill(1);
  const exchange x = mine.given(t.comm);
  const auto used = with_limit(
      r.memory, r.seed, fault, *t.sum,
      [&](std::size_t bytes) {
        options o = options_of(r);
        o.memory = bytes;
        t.doing("plan");
        made.emplace(x, o);
      },
      [&] { return mine.untouched(); });
  for (int i = 0; i < r.starts && fault.empty(); ++i) {
    if (r.delays) delay(r.seed, t.rank, 10 + i);
    t.doing("start");
    start(*made, mine, 2 + static_cast<std::uint64_t>(i));
    if (r.delays) delay(r.seed, t.rank, 30 + i);
    t.doing("complete");
    complete(*made, r.tested);
    fault = compare(mine, "a start of a plan", t);
  }
  if (fault.empty() && made->peak_memory() > used)
    return fmt::format("{} bytes taken by a plan, {} allowed", made->peak_memory(), used);
  return fault;
}

std::string compare_with_library(const recipe& r, const turn& t, buffers& mine) {
  if (r.in_place && !r.symmetric) return {};
  if (r.form == exchange::form::alltoallw && r.p == 1) return {};  // Open MPI 4.1 leaves out the displacements
  t.doing("library");
  mine.fill(9);
  mine.call_library(t.comm);
  if (t.rank == 0) ++t.sum->by_library;
  return mine.wrong() == 0 ? std::string() : "the MPI library's own call has another result";
}

}  // namespace

std::string run_exchange(const recipe& r, const turn& t, buffers& mine) {
  mine.prepare(r, t.rank);
  if (r.delays) delay(r.seed, t.rank, 1);
  std::string fault;
  {
    t.doing("company");
    companion other(r.beside, r.seed, t);
    try {
      fault = r.planned ? run_plan(r, t, mine) : run_call(r, t, mine);
    } catch (const usage_error& e) {
      if (e.mpi_class() != MPI_ERR_UNSUPPORTED_OPERATION || !e.collective()) throw;
      ++t.sum->refused;
      if (!mine.untouched()) fault = "a refused exchange has written to the buffers";
    }
    t.doing("company");
    const std::string others = other.end();
    if (fault.empty()) fault = others;
  }
  if (r.compared && fault.empty()) fault = compare_with_library(r, t, mine);
  return fault;
}

std::string run_checked(recipe r, const turn& t, buffers& mine) {
  r.form = exchange::form::alltoallv;
  r.in_place = r.narrow = false;
  if (r.type + 1 == all_types().size()) r.type = 0;
  r.choices = {};
  r.choices.algorithm = r.seed % 2 == 0 ? "auto" : "spread_out";
  const auto p = static_cast<std::uint64_t>(r.p);
  mine.prepare(r, t.rank);
  if (static_cast<std::uint64_t>(t.rank) == hash(r.seed, 7) % p)
    mine.expect_more_from(static_cast<int>(hash(r.seed, 8) % p));
  mine.fill(1);
  options o = options_of(r);
  o.check = true;
  t.doing("checked call");
  try {
    run(mine.given(t.comm), o);
  } catch (const usage_error& e) {
    if (!e.collective()) return fmt::format("not on all ranks: {}", e.what());
    return mine.untouched() ? std::string() : "a refused exchange has written to the buffers";
  }
  return "counts that do not match were not found";
}

}  // namespace taquin::soak
