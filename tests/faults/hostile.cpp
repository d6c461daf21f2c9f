// Calls in which one rank does harm: every rank must come back with an error or a right result, nothing may be written
// where nothing belongs, what all ranks have as their error must be everyone's, and nothing may be left. See
// CONTRIBUTING.md.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>

#include "faults/hostile_calls.hpp"
#include "faults/hostile_verdict.hpp"
#include "faults/layer.hpp"
#include "faults/left_over.hpp"
#include "mpi/communicator.hpp"
#include "soak/common_options.hpp"
#include "soak/watchdog.hpp"
#include "support/heap_watch.hpp"
#include "taquin/taquin.hpp"

namespace taquin::soak {

namespace {

using test::arm;
using test::disarm;
using test::fault;
using test::heap_watch;

struct settings {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  std::uint64_t problems = std::numeric_limits<std::uint64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
  double timeout = 60;
  std::vector<int> simplified;
  std::vector<std::string> calls;  // of these kinds only
  std::vector<std::string> harms;
  bool shows = false;
};

struct world {
  MPI_Comm base;
  int rank;
  int size;
  progress* at;
  bool several_nodes;

  void doing(const char* what) const { at->doing.store(what, std::memory_order_relaxed); }
};

std::unique_ptr<hostile_call> make_call(const hostile_recipe& r, MPI_Comm comm, int rank, const options& o) {
  if (r.is_exchange()) return make_hostile_exchange(r, comm, rank, o);
  if (r.what == called::sparse) return make_hostile_sparse(r, comm, rank, o);
  return make_hostile_blocks(r, comm, rank, o);
}

// A rank inside the MPI library's own call does not see that a rank has aborted; with a timeout no rank waits there.
bool may_wait_inside(const hostile_recipe& r) {
  const bool hard = r.harm == offence::memory || r.harm == offence::no_memory || r.harm == offence::mpi_call;
  return hard && r.is_exchange() && !r.in_steps() && (r.algorithm == "native" || r.algorithm == "auto");
}

options options_of(const hostile_recipe& r, int rank) {
  options o;
  o.algorithm = r.algorithm;
  o.memory = r.memory;
  if (errs(r, rank, offence::limit)) o.memory = static_cast<std::size_t>(r.variant % 8 * r.variant);
  if (may_wait_inside(r) || r.harm == offence::absent || r.harm == offence::impatient) {
    o.on_timeout = after_timeout::fail;
    o.timeout = r.harm == offence::absent ? 0.002F : 0.3F;
    if (r.harm == offence::impatient) o.timeout = r.offender == rank ? 0.002F : r.warm ? 30.0F : 0.02F;
  }
  return o;
}

void arm_for(const hostile_recipe& r) {
  if (r.harm == offence::memory) arm(fault::memory, r.n);
  if (r.harm == offence::no_memory) arm(fault::no_memory, r.n);
  if (r.harm == offence::mpi_call) arm(fault::mpi_call, r.n);
}

// All steps of the call, with what goes wrong in them.
void go_through(hostile_call& c, const hostile_recipe& r, const world& w, verdict& v) {
  const int steps = c.steps();
  const int odd = r.step % steps;
  for (int step = 0; step < steps; ++step) {
    w.doing(step == 0 ? "first step" : step == 1 ? "second step" : "third step");
    if (r.delays) delay(r.seed, w.rank, 10 + step);
    if (r.harm == offence::impatient && step == odd && w.rank == r.victim && r.victim != r.offender)
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
    if (errs(r, w.rank, offence::dropped) && step == 2) {
      v.happened = 1;
      c.drop();
      return print_message(v, ending::own, MPI_SUCCESS, "dropped");
    }
    if (r.offender == w.rank && step == odd) arm_for(r);
    c.step(step);
    if (disarm()) v.happened = 1;
  }
}

// Allocates nothing: some errors are thrown where there is no memory.
verdict attempt(hostile_call& c, const hostile_recipe& r, const world& w) {
  verdict v;
  try {
    go_through(c, r, w, v);
  } catch (const error& e) {
    print_message(v, e.collective() ? ending::refused : ending::alone, e.mpi_class(), e.what());
  } catch (const c_error& e) {
    print_message(v, ending::code, e.code, e.what());
  } catch (const std::bad_alloc&) {
    print_message(v, ending::alone, MPI_ERR_NO_MEM, "bad_alloc");
  } catch (const own_error& e) {
    print_message(v, ending::own, MPI_ERR_OTHER, e.what());
  } catch (const std::exception& e) {
    print_message(v, ending::alone, MPI_ERR_OTHER, e.what());
  }
  if (disarm()) v.happened = 1;
  return v;
}

bool is_error(const verdict& v) { return v.how != ending::right && v.how != ending::away; }

// Where taquin has no private communicator left, all ranks have this error, and only the step on a node serves.
bool has_no_communicator(const verdict& v) {
  return v.how == ending::refused && v.mpi_class == MPI_ERR_UNSUPPORTED_OPERATION;
}

bool short_way(const hostile_recipe& r, const world& w) {
  return r.is_exchange() && !r.in_steps() && !w.several_nodes &&
         (r.algorithm == "auto" || r.algorithm == "shared_memory");
}

// The required effect of one rank's harm, by the contract.
std::string arbiter(const hostile_recipe& r, std::span<const verdict> all, const world& w) {
  const auto count = [&](ending how) { return std::ranges::count(all, how, &verdict::how); };
  const auto errors = std::ranges::count_if(all, is_error);
  const bool hard = r.harm == offence::memory || r.harm == offence::no_memory || r.harm == offence::mpi_call;
  if (!hard && count(ending::refused) > 0 && errors != r.p && r.harm != offence::absent)
    return "an error says that all ranks have it, and not all have one";
  const bool unserved = std::ranges::any_of(all, [](const verdict& v) {
    return v.mpi_class == MPI_ERR_UNSUPPORTED_OPERATION || (v.mpi_class == MPI_ERR_NO_MEM && v.how != ending::alone);
  });
  if (unserved) return {};
  const auto& offender = all[static_cast<std::size_t>(r.offender)];
  switch (r.harm) {
    case offence::none:
      return errors == 0 ? std::string() : "an error without a reason";
    case offence::memory:
    case offence::no_memory:
    case offence::mpi_call:
      return offender.happened == 0 && errors > 0 ? "an error without a reason" : std::string();
    case offence::argument:
      return errors == r.p ? std::string() : "an invalid argument is not every rank's error";
    case offence::other_call:
      return errors == r.p || r.p == 1 ? std::string() : "another call is not every rank's error";
    case offence::sizes:
      if (r.p == 1 || r.what == called::migration) return {};
      if (short_way(r, w)) return errors > 0 ? std::string() : "sizes that do not match are not an error";
      return errors == r.p ? std::string() : "sizes that do not match are not every rank's error";
    case offence::thrown:
      if (r.what == called::migration) return errors == r.p ? std::string() : "what threw is not every rank's error";
      return {};
    case offence::absent:
      return errors >= r.p - 1 ? std::string() : "a rank is missing, and there is no error";
    default:
      return {};
  }
}

// All ranks have the same error, or none has one: the communicator goes on to serve.
bool is_whole(const hostile_recipe& r, std::span<const verdict> all, const world& w) {
  if (r.harm == offence::absent) return false;
  if (r.harm == offence::sizes && short_way(r, w)) return true;
  if (r.harm == offence::thrown && r.what == called::sparse) {
    const auto bad = std::ranges::count_if(all, [](const verdict& v) {
      return v.how == ending::alone || (v.how == ending::code && v.mpi_class == MPI_ERR_OTHER);
    });
    return bad == 0;
  }
  const bool right = std::ranges::all_of(all, [](const verdict& v) { return v.how == ending::right; });
  const bool refused = std::ranges::all_of(all, [](const verdict& v) { return v.how == ending::refused; });
  const bool same_code = std::ranges::all_of(all, [&](const verdict& v) {
    return v.how == ending::code && v.mpi_class == all.front().mpi_class && v.mpi_class != MPI_ERR_OTHER &&
           std::strcmp(v.text.data(), all.front().text.data()) == 0;
  });
  return right || refused || same_code;
}

// Blocks that are piggybacked on the agreement may have been written.
bool may_be_written(const hostile_recipe& r, const world& w) {
  return r.is_exchange() && r.what != called::in_place && !r.in_steps() && w.several_nodes;
}

std::vector<verdict> gather(const verdict& mine, const world& w) {
  std::vector<verdict> all(static_cast<std::size_t>(w.size));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, w.base);
  return all;
}

// A call that no rank harms: right, or an error where the communicator may be lost. `patient`: without a timeout.
verdict plain_call(MPI_Comm comm, const world& w, bool planned, bool patient, std::string& bad) {
  hostile_recipe r{.seed = 7, .p = w.size, .what = called::alltoallv, .most = 40, .load = 1};
  if (planned) r.by = surface::steps, r.algorithm = "spread_out";
  if (!patient) r.harm = offence::absent, r.offender = r.p;  // no rank
  const auto c = make_call(r, comm, w.rank, options_of(r, w.rank));
  verdict v = attempt(*c, r, w);
  if (v.how == ending::right) bad = c->wrong();
  if (bad.empty()) bad = c->outside();
  return v;
}

std::string afterwards(const hostile_recipe& r, MPI_Comm comm, const world& w, bool whole) {
  for (const bool planned : {false, true}) {
    w.doing(planned ? "a plan afterwards" : "a call afterwards");
    std::string bad;
    // A rank that aborts the first call on a communicator cannot notify a late one: they do not know each other.
    const bool patient = whole || r.warm || (r.harm != offence::absent && r.harm != offence::impatient);
    const verdict mine = plain_call(comm, w, planned, patient, bad);
    const auto all = gather(mine, w);
    if (!bad.empty()) return "afterwards: " + bad;
    const auto errors = std::ranges::count_if(all, is_error);
    if (std::ranges::all_of(all, has_no_communicator)) continue;
    if (whole && errors > 0) return "the communicator does not serve afterwards:" + text_of(all);
    if (r.harm == offence::absent && errors == 0) return "the communicator serves though a rank was missing";
  }
  int sum = 1;  // the program's own
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum == w.size ? std::string() : "the program's own reduction is wrong";
}

struct result {
  std::string bad;
  bool whole = false;
  bool happened = false;  ///< the harm reached the code
  bool noticed = false;   ///< and a rank had an error
};

/// The effects of the harms of one kind.
struct harm_tally {
  std::uint64_t tried = 0, happened = 0, noticed = 0;

  void add(const result& r) {
    ++tried;
    happened += r.happened ? 1 : 0;
    noticed += r.happened && r.noticed ? 1 : 0;
  }
};

// Harms that are armed say themselves whether they happened; of all others an error shows it.
bool is_armed(offence harm) {
  return harm == offence::memory || harm == offence::no_memory || harm == offence::mpi_call || harm == offence::dropped;
}

// One of its kind may find nothing to harm; not one of so many happened only where the instrument does nothing.
bool never_happened(offence harm, const harm_tally& t, int ranks) {
  constexpr std::uint64_t enough = 8;
  const bool takes_two =
      harm == offence::sizes || harm == offence::absent || harm == offence::other_call || harm == offence::impatient;
  return harm != offence::none && !(takes_two && ranks == 1) && t.tried >= enough && t.happened == 0;
}

bool any_rank(bool mine, const world& w) {
  int any = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, w.base);
  return any != 0;
}

// The problem itself, on a communicator of its own.
result run_once(const hostile_recipe& r, const world& w) {
  MPI_Comm comm = MPI_COMM_NULL;
  w.doing("duplicate");
  MPI_Comm_dup(w.base, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  result out;
  std::string bad;
  if (r.warm) {
    w.doing("calls before");
    for (const bool planned : {false, true, false}) {
      const verdict v = plain_call(comm, w, planned, true, bad);
      if (is_error(v) && !has_no_communicator(v)) bad = fmt::format("before: {}", v.text.data());
    }
  }
  MPI_Barrier(w.base);  // a rank that leaves takes those along that are still in a call before
  hostile_recipe own = r;
  if (errs(r, w.rank, offence::other_call)) {
    own.what = static_cast<called>((static_cast<int>(r.what) + 1 + r.variant % 6) % static_cast<int>(called::kinds));
    if (!own.is_exchange() || !r.is_exchange()) own.algorithm = "auto";
  }
  {
    const auto c = make_call(own, comm, w.rank, options_of(r, w.rank));
    const bool away = errs(r, w.rank, offence::absent) && r.p > 1;
    verdict mine;
    if (away)
      mine.how = ending::away;
    else
      mine = attempt(*c, own, w);
    mine.untouched = c->untouched() ? 1 : 0;
    w.doing("verdict");
    const auto all = gather(mine, w);
    if (bad.empty()) bad = c->outside();
    if (bad.empty() && mine.how == ending::right) bad = c->wrong();
    if (bad.empty() && mine.how == ending::refused && mine.untouched == 0 && !may_be_written(r, w) &&
        !(r.harm == offence::no_memory || r.harm == offence::memory))
      bad = "an error that all ranks have came when something was written already";
    if (bad.empty() && w.rank == 0) bad = arbiter(r, all, w);
    if (!bad.empty()) bad += text_of(all);
    out.whole = is_whole(r, all, w);
    out.noticed = std::ranges::any_of(all, is_error);
    out.happened = is_armed(r.harm) ? std::ranges::any_of(all, [](const verdict& v) { return v.happened != 0; })
                                    : r.harm != offence::none && out.noticed;
    w.doing("end");
    c->drop();
  }
  const std::string after = afterwards(r, comm, w, out.whole);
  if (bad.empty()) bad = after;
  w.doing("free");
  const int lost = mpi::communicator::retired();
  MPI_Comm_free(&comm);
  while (out.whole && any_rank(mpi::communicator::retired() > lost, w)) mpi::communicator::free_retired();
  out.bad = bad;
  return out;
}

// Where all ranks agree on what happened nothing may be left of the call, once taquin has what it keeps.
std::string run_problem(const hostile_recipe& r, const world& w, harm_tally* tally = nullptr) {
  result first = run_once(r, w);
  if (tally != nullptr) tally->add(first);
  const bool again = r.watched && first.whole;  // the same on all ranks
  if (!again || any_rank(!first.bad.empty(), w)) return first.bad;
  const left_over before = left_over::now();
  std::size_t bytes = 0;
  {
    const heap_watch deadline;
    const auto live = [&] {
      first = run_once(r, w);
      const std::size_t text = first.bad.capacity() > 15 ? first.bad.capacity() + 1 : 0;
      return heap_watch::live() - text;
    };
    bytes = live();
    if (!first.whole) return first.bad;
    // An object that taquin keeps may be replaced by another of its kind, which counts as live once.
    if (any_rank(bytes > 0, w) && !any_rank(!first.bad.empty(), w)) {
      const std::size_t both = live();
      bytes = both - std::min(bytes, both);
    }
  }
  const left_over after = left_over::now();
  if (!first.bad.empty() || !first.whole) return first.bad;
  if (bytes > 0) return fmt::format("{} bytes are left in the last run", bytes);
  if (after.files > before.files) return fmt::format("{} files are left open", after.files - before.files);
  if (after.mappings > before.mappings) return fmt::format("{} mappings are left", after.mappings - before.mappings);
  return {};
}

void shrink(hostile_recipe r, const world& w) {
  const auto fails = [&](const hostile_recipe& x) { return any_rank(!run_problem(x, w).empty(), w); };
  if (!fails(r)) {
    if (w.rank == 0) fmt::print(stderr, "soak: alone it does not fail: {}\n", describe(r));
    return;
  }
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (int way = 0; way < hostile_simplifications; ++way) {
      hostile_recipe simple = r;
      if (!simplify(simple, way) || !fails(simple)) continue;
      r = simple;
      smaller = true;
    }
  }
  if (w.rank == 0) fmt::print(stderr, "soak: shrunk to: {}\n", describe(r));
}

bool is_wanted(const hostile_recipe& r, const settings& s) {
  const auto among = [](const std::vector<std::string>& names, const char* name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  return among(s.calls, name_of(r.what)) && among(s.harms, name_of(r.harm));
}

int run_all(const settings& s) {
  progress* at = nullptr;
  std::deque<progress> progresses(1);
  at = &progresses.front();
  world w{MPI_COMM_WORLD, 0, 1, at, std::getenv("TAQUIN_NODES") != nullptr};
  MPI_Comm_rank(w.base, &w.rank);
  MPI_Comm_size(w.base, &w.size);
  std::atomic<bool> ended = false;
  std::jthread watchdog([&] { watch_over(progresses, s.timeout, s.seed, w.rank, ended); });
  const double begin = MPI_Wtime();
  int failures = 0;
  std::uint64_t done = 0;
  std::array<harm_tally, static_cast<std::size_t>(offence::kinds)> by_harm{};
  for (std::uint64_t i = s.first; i - s.first < s.problems && failures < 5; ++i) {
    at->problem = i;
    hostile_recipe r = make_hostile_recipe(hash(s.seed, i), w.size);
    if (!is_wanted(r, s)) continue;
    for (const int way : s.simplified) simplify(r, way);
    if (s.shows && w.rank == 0) fmt::print(stderr, "{}: {}\n", i, describe(r));
    const std::string bad = run_problem(r, w, &by_harm.at(static_cast<std::size_t>(r.harm)));
    ++done;
    if (!bad.empty())
      fmt::print(stderr, "soak: rank {} of {}: {}: {}\n  repeat: --seed {} --first {} --problems 1\n", w.rank, w.size,
                 bad, describe(r), s.seed, i);
    if (any_rank(!bad.empty(), w)) {
      ++failures;
      shrink(r, w);
    }
    if (s.seconds < std::numeric_limits<double>::infinity() && any_rank(MPI_Wtime() - begin > s.seconds, w)) break;
  }
  ended = true;
  for (std::size_t k = 0; k < by_harm.size(); ++k)
    failures += never_happened(static_cast<offence>(k), by_harm.at(k), w.size) ? 1 : 0;
  if (w.rank == 0) {
    fmt::print("soak: {} calls with a hostile rank, {} ranks, seed {}, {} failures, {:.0f} s\n", done, w.size, s.seed,
               failures, MPI_Wtime() - begin);
    for (std::size_t k = 0; k < by_harm.size(); ++k) {
      const harm_tally& h = by_harm.at(k);
      fmt::print("  {:<24} {:>5} tried, {:>5} happened: {:>5} noticed, {:>5} survived{}\n",
                 name_of(static_cast<offence>(k)), h.tried, h.happened, h.noticed, h.happened - h.noticed,
                 never_happened(static_cast<offence>(k), h, w.size) ? "; FAILED: never happened" : "");
    }
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace

}  // namespace taquin::soak

int main(int argc, char** argv) {
  taquin::soak::settings s;
  CLI::App app("Calls in which one rank does harm.");
  taquin::soak::add_common_options(app, s, "problem");
  app.add_option("--problems", s.problems, "how many");
  app.add_option("--seconds", s.seconds, "for how long");
  app.add_option("--simplify", s.simplified, "simplifications of every problem, by number");
  app.add_option("--call", s.calls, "only problems with this call, as \"sparse exchange\"");
  app.add_option("--harm", s.harms, "only problems with these harms, as \"memory,sizes\"")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int result = taquin::soak::run_all(s);
  MPI_Finalize();
  return result;
}
