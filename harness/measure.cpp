#include "harness/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/algorithm.hpp"
#include "harness/session.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::harness {

namespace {

constexpr int least_repetitions = 10;
constexpr int most_repetitions = 200;
constexpr double seconds_each = 2;  // per contender, verification included
constexpr double shortest = 1e-3;   // a repetition
constexpr int most_inner = 10000;

// Makes the calls of one contender and runs them once. Errors that all ranks of a communicator see alike disqualify it.
void prepare(const std::vector<problem>& calls, arena& memory, contender& c, bool persistent,
             const std::function<void(double)>& progress) {
  c.opts.algorithm = c.asked;
  c.opts.stats = c.raw ? nullptr : &c.stats;
  const auto* named = c.default_for_others ? detail::find_algorithm(c.asked) : nullptr;
  std::optional<std::string> fault;
  std::string_view before;
  for (const problem& p : calls) {
    progress(static_cast<double>(c.calls.size()) / static_cast<double>(calls.size()));
    try {
      options o = c.opts;
      if (named != nullptr && p.takes_part() && !named->supports(p.shape())) {
        o.algorithm = "auto";
        if (p.leads()) c.by_default += p.repeats();
      }
      c.calls.push_back(c.raw ? p.native(memory) : (persistent ? p.persistent(memory, o) : p.blocking(memory, o)));
      for (std::uint64_t i = 0; i < p.repeats(); ++i) {
        p.fill(memory);
        c.calls.back()();
      }
      c.wrong += p.wrong_bytes(memory);
      if (p.takes_part() && o.algorithm == c.opts.algorithm) {
        c.several = c.several || (!before.empty() && before != c.stats.algorithm);
        before = c.stats.algorithm;
      }
    } catch (const usage_error& e) {
      fault = e.what();
    } catch (const budget_exceeded& e) {
      fault = e.what();
    }
  }
  if (named != nullptr) {
    std::array<std::uint64_t, 2> v{c.by_default, 0};
    for (const problem& p : calls) v[1] += p.leads() ? p.repeats() : 0;
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    c.by_default = v[0];
    if (v[0] == v[1]) fault = "serves none of the calls";
  }
  c.fault = any_failure(fault, MPI_COMM_WORLD);
}

// One repetition: each rank's time for each call, then the slowest rank's.
double repetition(const std::vector<problem>& calls, arena& memory, contender& c, int inner) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const problem& p = calls[i];
    // In place, data must be laid out anew for each exchange.
    const std::uint64_t runs = p.how() == buffering::separate ? 1 : p.repeats() * static_cast<unsigned>(inner);
    const std::uint64_t batch = p.repeats() * static_cast<unsigned>(inner) / runs;
    double sum = 0;
    for (std::uint64_t run = 0; run < runs; ++run) {
      p.fill(memory);
      TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
      const double start = MPI_Wtime();
      for (std::uint64_t k = 0; k < batch; ++k) c.calls[i]();
      sum += MPI_Wtime() - start;
      // Verification does not yield: a rank that is done would take the core from those that still exchange.
      TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
      c.wrong += p.wrong_bytes(memory);
    }
    seconds.push_back(sum);
  }
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                           MPI_COMM_WORLD));
  double total = 0;
  for (const double s : seconds) total += s;
  return total / inner;
}

// The same number on every rank.
int calibrate(const std::vector<problem>& calls, arena& memory, contender& native) {
  double once = repetition(calls, memory, native, 1);
  if (std::ranges::any_of(calls, [](const problem& p) { return p.how() != buffering::separate; })) return 1;
  once = std::min(once, repetition(calls, memory, native, 1));
  return std::clamp(static_cast<int>(std::ceil(shortest / std::max(once, 1e-7))), 1, most_inner);
}

}  // namespace

void reduce(contender& c, std::uint64_t done) {
  statistics& s = c.stats;
  std::array<std::uint64_t, 6> v{s.rounds / done,       s.messages / done, s.bytes_sent / done,
                                 s.bytes_copied / done, s.peak_memory,     c.several ? 1U : 0U};
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), 6, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &c.wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  s.rounds = v[0];
  s.messages = v[1];
  s.bytes_sent = v[2];
  s.bytes_copied = v[3];
  s.peak_memory = v[4];
  c.several = v[5] != 0;
  c.name = c.asked;
  if (c.several) {
    c.name = "several";
  } else if (!c.raw && !c.default_for_others && !s.algorithm.empty()) {
    c.name = s.algorithm;
  }
}

measured race(std::vector<contender>& contenders, int inner, const measure_settings& settings,
              const std::function<double(contender&)>& repetition, const std::function<void(double)>& progress) {
  measured m{.inner = inner};
  contender& native = contenders.front();
  std::vector<contender*> racing;
  for (contender& c : contenders)
    if (!c.raw && !c.fault) racing.push_back(&c);

  const int most = settings.repetitions > 0 ? settings.repetitions : most_repetitions;
  const double allowed = seconds_each * static_cast<double>(std::max<std::size_t>(racing.size(), 1));
  const double start = MPI_Wtime();
  for (int done = 0; done < most; ++done) {
    double elapsed = MPI_Wtime() - start;
    TAQUIN_MPI(MPI_Bcast(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (settings.repetitions == 0 && done >= least_repetitions && elapsed > allowed) break;
    progress(settings.repetitions > 0 ? done / static_cast<double>(most)
                                      : std::max(done / static_cast<double>(most), std::min(elapsed / allowed, 1.0)));
    if (racing.empty()) native.seconds.push_back(repetition(native));
    for (contender* c : racing) {
      // In turn: who comes second finds the caches and the peers as the first left them.
      contender* const first = done % 2 == 0 ? &native : c;
      contender* const second = done % 2 == 0 ? c : &native;
      first->seconds.push_back(repetition(*first));
      second->seconds.push_back(repetition(*second));
      c->ratios.push_back(c->seconds.back() / native.seconds.back());
    }
    m.repetitions = done + 1;
  }
  return m;
}

measured measure(const std::vector<problem>& calls, arena& memory, std::vector<contender>& contenders,
                 const measure_settings& settings, const std::function<void(const std::string&, double)>& progress) {
  for (contender& c : contenders)
    prepare(calls, memory, c, settings.persistent, [&](double part) { progress(c.asked + ": first run", part); });
  const int inner = settings.batch > 0 ? settings.batch : calibrate(calls, memory, contenders.front());
  const measured m = race(
      contenders, inner, settings, [&](contender& c) { return repetition(calls, memory, c, inner); },
      [&](double part) { progress({}, part); });
  const auto executed = static_cast<std::uint64_t>(m.repetitions) * static_cast<std::uint64_t>(m.inner) + 1;
  for (contender& c : contenders) {
    if (c.raw)
      for (const problem& p : calls) p.account(c.stats);
    if (!c.fault) reduce(c, c.raw ? 1 : executed);
    c.calls.clear();  // plans are freed before their communicators
  }
  return m;
}

}  // namespace taquin::harness
