// Ranks are lost in the middle of calls: killed, stopped for a while, ended by exit, abort or their own exception.
// Where the MPI library goes on, all others must come out of their calls with an error that says so, and go on with a
// smaller communicator, which must be right; else mpirun must end the job. See CONTRIBUTING.md.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "faults/hostile_calls.hpp"
#include "faults/left_over.hpp"
#include "faults/mortal_harms.hpp"
#include "faults/mortal_trial.hpp"
#include "mpi/failure.hpp"
#include "soak/common_options.hpp"
#include "soak/watchdog.hpp"
#include "taquin/taquin.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace taquin::soak {

namespace {

struct settings {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  std::uint64_t trials = std::numeric_limits<std::uint64_t>::max();
  int ranks = std::numeric_limits<int>::max();
  int afterwards = 100;
  double timeout = 60;
  std::vector<std::string> only;
  bool shows = false;
};

/// How a call ended on a rank that goes on.
enum class ending : std::uint8_t {
  right,
  refused,  ///< by an error that is no failure of a rank
  left,     ///< because another rank has aborted
  failed    ///< because a rank has failed, or the communicator is revoked
};

struct rank_state {
  MPI_Comm alive = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  std::deque<progress> progresses{1};  ///< of one thread
  progress& at = progresses.front();
  std::string bad;  ///< the first thing that was wrong
  std::uint64_t calls = 0;
  double longest = 0;               ///< seconds after a rank was lost, until another one was out of its call
  std::optional<left_over> held{};  ///< after the first trial

  void doing(const char* what) { at.doing.store(what, std::memory_order_relaxed); }
  void wrong(const std::string& what) {
    if (bad.empty()) bad = what;
  }
  void poll() {
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    MPI_Comm_rank(alive, &rank);
    MPI_Comm_size(alive, &size);
  }
};

// ---- Calls ----

std::unique_ptr<hostile_call> make_call(const hostile_recipe& r, MPI_Comm comm, int rank) {
  options o;
  o.algorithm = r.algorithm;
  o.memory = r.memory;
  if (r.is_exchange()) return make_hostile_exchange(r, comm, rank, o);
  if (r.what == called::sparse) return make_hostile_sparse(r, comm, rank, o);
  return make_hostile_blocks(r, comm, rank, o);
}

ending of_class(int code) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  if (mpi::is_failure(kind)) return ending::failed;
  return kind == MPI_ERR_OTHER ? ending::left : ending::refused;
}

struct outcome {
  ending how = ending::right;
  std::string text;
  std::vector<int> failed{};  // as the error names them; not known in C
};

// `leaves`: this rank throws before that step, and what it has made goes with it; −1: it does not.
outcome attempt(hostile_call& c, const hostile_recipe& r, int rank, int leaves) {
  try {
    const int steps = c.steps();
    for (int step = 0; step <= steps; ++step) {
      if (step == leaves || (step == steps && leaves >= steps)) {
        c.drop();
        throw own_error("this rank's own");
      }
      if (r.delays) delay(r.seed, rank, 10 + step);
      if (step < steps) c.step(step);
    }
    return {};
  } catch (const peer_failed& e) {
    return {ending::failed, e.what(), e.ranks()};
  } catch (const peer_aborted& e) {
    return {ending::left, e.what()};
  } catch (const error& e) {
    const ending how = of_class(e.mpi_class());
    return {how == ending::left && e.collective() ? ending::refused : how, e.what()};
  } catch (const c_error& e) {
    return {of_class(e.code), e.what()};
  }
}

// Calls until one ends because a rank has failed, and at most those that a failure cannot outlast.
void call_until_lost(rank_state& s, const trial& t, MPI_Comm comm, std::vector<std::unique_ptr<hostile_call>>& made,
                     std::vector<hostile_recipe>& recipes) {
  constexpr int more = 12;
  const int rank = static_cast<int>(std::ranges::find(t.members, s.rank) - t.members.begin());
  const bool offends = rank == t.offender;
  for (int number = 0; number < t.call + more; ++number) {
    recipes.push_back(make_mortal_call(t, number, t.p()));
    const hostile_recipe& r = recipes.back();
    s.doing(name_of(r.what));
    const bool now = offends && number == t.call;
    if (now) arm_for(t);
    const double begin = seconds_now();
    made.push_back(make_call(r, comm, rank));
    const bool throws = now && t.how == harm::exception;
    const outcome o = attempt(*made.back(), r, rank, throws && r.harm == offence::none ? t.n : -1);
    if (throws) {
      write_obituary();
      std::exit(4);
    }
    ++s.calls;
    if (o.how == ending::right) s.wrong(made.back()->wrong());
    s.wrong(made.back()->outside());
    if (offends && t.loses() && number == t.call + 1) {
      fmt::print(stderr, "mortal: the call had fewer steps\n");
      be_killed();
    }
    if (o.how == ending::right || o.how == ending::refused) continue;
    if (t.loses()) s.longest = std::max(s.longest, seconds_now() - std::max(begin, time_of_death()));
    if (!t.loses()) s.wrong("an error without a reason: " + o.text);
    if (std::ranges::any_of(o.failed, [&](int one) { return one != t.offender; }))
      s.wrong("the error names ranks that have not failed: " + o.text);
    if (o.how == ending::left && t.how != harm::exception) s.wrong("the error names no failure: " + o.text);
    return;
  }
  if (t.loses()) s.wrong("a rank has failed, and calls went on to end well");
}

// Random problems, which all must be right.
void call_afterwards(rank_state& s, const trial& t, MPI_Comm comm, int problems) {
  int rank = 0, p = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  if (p != t.p() - (t.loses() ? 1 : 0)) s.wrong(fmt::format("{} of {} ranks are left", p, t.p()));
  for (int k = 0; k < problems && s.bad.empty(); ++k) {
    const hostile_recipe r = make_mortal_call(t, 1000 + k, p);
    s.doing("a problem afterwards");
    const auto c = make_call(r, comm, rank);
    const outcome o = attempt(*c, r, rank, -1);
    ++s.calls;
    if (o.how == ending::right) s.wrong(c->wrong());
    s.wrong(c->outside());
    if (o.how == ending::left || o.how == ending::failed)
      s.wrong(fmt::format("afterwards: {}: {}", o.text, describe(r)));
  }
}

// ---- Going on ----

void revoke([[maybe_unused]] MPI_Comm comm) {
#ifdef MPIX_ERR_PROC_FAILED
  MPIX_Comm_revoke(comm);
#endif
}

MPI_Comm smaller_than(rank_state& s, MPI_Comm comm, [[maybe_unused]] bool lost) {
  MPI_Comm smaller = MPI_COMM_NULL;
#ifdef MPIX_ERR_PROC_FAILED
  if (lost) {
    s.doing("shrink");
    if (const int code = MPIX_Comm_shrink(comm, &smaller); code != MPI_SUCCESS) s.wrong("MPIX_Comm_shrink fails");
    return smaller;
  }
#endif
  s.doing("duplicate");
  if (MPI_Comm_dup(comm, &smaller) != MPI_SUCCESS) s.wrong("MPI_Comm_dup fails");
  return smaller;
}

// mpirun ends the job, and with it this rank.
[[noreturn]] void await_the_end(rank_state& s) {
  s.doing("waits for mpirun to end the job");
  for (;;) usleep(100000);
}

MPI_Comm fresh(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

// Ranks that are in no trial leave the cores to those that are: so there can be many trials in a job. The first member
// that continues notifies them of the end.
void wait_for_each_other(rank_state& s, const trial& t, bool member) {
  constexpr int tag = 4;
  const auto lost = t.loses() ? t.members[static_cast<std::size_t>(t.offender)] : -1;
  const int first = *std::ranges::find_if(t.members, [&](int r) { return r != lost; });
  if (member) {
    s.doing("tells the others");
    for (int r = 0; r < s.size && s.rank == first; ++r)
      if (!std::ranges::binary_search(t.members, r)) MPI_Send(nullptr, 0, MPI_BYTE, r, tag, s.alive);
    return;
  }
  s.doing("is in no trial");
  constexpr useconds_t pause = 2000;
  for (int there = 0; MPI_Iprobe(first, tag, s.alive, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && there == 0;)
    usleep(pause);
  MPI_Recv(nullptr, 0, MPI_BYTE, first, tag, s.alive, MPI_STATUS_IGNORE);
}

void run_trial(rank_state& s, const trial& t, const settings& o) {
  const bool member = std::ranges::binary_search(t.members, s.rank);
  MPI_Comm comm = MPI_COMM_NULL;
  s.doing("split");
  MPI_Comm_split(s.alive, member ? 0 : MPI_UNDEFINED, s.rank, &comm);
  if (member) {
    std::vector<std::unique_ptr<hostile_call>> made;
    std::vector<hostile_recipe> recipes;
    recipes.reserve(1000);  // calls refer to them
    MPI_Barrier(comm);      // all have it: Open MPI 6.0 crashes where a communicator is revoked that is being made
    call_until_lost(s, t, fresh(comm), made, recipes);
    if (t.loses() && !mpi::survives_failures()) await_the_end(s);
    if (t.loses() && t.revokes) revoke(comm);
    MPI_Comm smaller = fresh(smaller_than(s, comm, t.loses()));
    made.clear();
    s.doing("free");
    MPI_Comm_free(&comm);
    call_afterwards(s, t, smaller, o.afterwards);
    s.doing("free the smaller one");
    MPI_Comm_free(&smaller);
  }
  if (t.p() < s.size) wait_for_each_other(s, t, member);
  MPI_Comm before = s.alive;
  s.alive = smaller_than(s, before, t.loses());
  s.poll();
  MPI_Comm_free(&before);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

bool any_rank(rank_state& s, bool mine) {
  int any = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, s.alive);
  return any != 0;
}

// All of them where none is named.
std::vector<harm> named(const std::vector<std::string>& names) {
  std::vector<harm> harms;
  for (std::size_t k = 0; k < harm_names.size(); ++k)
    if (names.empty() || std::ranges::find(names, harm_names[k]) != names.end()) harms.push_back(static_cast<harm>(k));
  return harms;
}

// Memory of communicators that are freed serves later ones with the same ranks: there may be some. Files and threads
// may not be more after a trial than after the first one; sockets may, between ranks that had not met.
void find_remains(rank_state& s) {
  constexpr int kept = 16;
  const left_over now = left_over::now();
  if (now.mappings > kept) s.wrong(fmt::format("{} mappings are left", now.mappings));
  if (!s.held) s.held = now;
  if (const int more = now.files - now.sockets - (s.held->files - s.held->sockets); more > 0)
    s.wrong(fmt::format("{} files are left open", more));
  if (const int more = now.threads - s.held->threads; more > 0) s.wrong(fmt::format("{} threads are left", more));
}

int run_all(const settings& o) {
  rank_state s;
  MPI_Comm_dup(MPI_COMM_WORLD, &s.alive);
  s.poll();
  std::atomic<bool> ended = false;
  std::jthread watchdog([&] { watch_over(s.progresses, o.timeout, o.seed, s.rank, ended); });
  std::uint64_t done = 0;
  int failures = 0;
  const int world = s.size;
  std::array<int, static_cast<std::size_t>(harm::kinds)> by_harm{};
  const std::vector<harm> harms = named(o.only);
  const char* const own = std::getenv("TMPDIR");
  const std::string directory = own == nullptr ? "/tmp" : own;
  for (std::uint64_t i = o.first; i - o.first < o.trials && failures == 0; ++i) {
    const int p = std::min(o.ranks, world);
    if (s.size < std::max(p, 2)) break;
    s.at.problem = i;
    const trial t = make_trial(hash(o.seed, i), s.size, p, harms);
    obituary = fmt::format("{}/mortal.{}.{}", directory, o.seed, i);
    if (o.shows && s.rank == 0)
      fmt::print(stderr, "{}: {}: {}\n", i, describe(t), describe(make_mortal_call(t, t.call, t.p())));
    run_trial(s, t, o);
    find_remains(s);
    ++done;
    ++by_harm.at(static_cast<std::size_t>(t.how));
    if (!s.bad.empty())
      fmt::print(stderr, "mortal: rank {}: {}: {}\n  repeat: --seed {} --first {}\n", s.rank, s.bad, describe(t),
                 o.seed, o.first);
    failures += any_rank(s, !s.bad.empty()) ? 1 : 0;
  }
  double longest = 0;
  MPI_Reduce(&s.longest, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, s.alive);
  if (s.rank == 0) {
    fmt::print("mortal: {} trials of {} ranks, {} failures, longest {:.2f} s, {} calls on rank 0:", done,
               std::min(o.ranks, world), failures, longest, s.calls);
    for (std::size_t k = 0; k < by_harm.size(); ++k) fmt::print(" {} {}", by_harm[k], harm_names[k]);
    fmt::print("\n");
    std::fflush(stdout);
  }
  MPI_Barrier(s.alive);
  ended = true;
  return failures > 0 ? 1 : 0;
}

}  // namespace

}  // namespace taquin::soak

int main(int argc, char** argv) {
  taquin::soak::settings s;
  CLI::App app("Ranks are lost in the middle of calls, and the others go on or the job ends.");
  taquin::soak::add_common_options(app, s, "trial");
  app.add_option("--trials", s.trials, "how many, as far as there are ranks left");
  app.add_option("--ranks", s.ranks, "of each trial's communicator; all that there are");
  app.add_option("--afterwards", s.afterwards, "random problems of those that go on");
  app.add_option("--only", s.only, "kill, stop, exit, abort, exception: some of these")
      ->check(
          CLI::IsMember(std::vector<std::string>(taquin::soak::harm_names.begin(), taquin::soak::harm_names.end())));
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int result = taquin::soak::run_all(s);
  if (taquin::mpi::survives_failures()) _exit(result);  // the MPI library may wait for the dead
  MPI_Finalize();
  return result;
}
