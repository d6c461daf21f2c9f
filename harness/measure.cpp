#include "harness/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "algorithms/algorithm.hpp"
#include "harness/repetitions.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "harness/why_not.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"
#include "workloads/traffic.hpp"

namespace taquin::harness {

namespace {

constexpr int least_until = 50;      // a few consecutive ones agree with each other and not with the next few
constexpr double longest_each = 30;  // where an interval is to become narrow
constexpr int before_dropping = 4;   // repetitions
constexpr double until_saved = 1;    // measured seconds

// The calls of one contender, as they are made and run for the first time. An error that all ranks of a communicator
// have disqualifies it.
class first_run {
 public:
  first_run(const std::vector<problem>& calls, arenas& memory, contender& c, bool persistent)
      : calls_(calls), memory_(memory), c_(c), persistent_(persistent) {
    c.opts.algorithm = c.requested;
    c.opts.stats = c.raw ? nullptr : &c.stats;
    named_ = c.default_for_others ? detail::find_algorithm(c.requested) : nullptr;
    c.exchanges.resize(calls.size());
  }

  void of(const section& s) {
    bool made = true;
    for (std::size_t i = s.first; i < s.end; ++i)
      if (calls_[i].takes_part()) made = guarded([&] { make(i); }) && made;
    if (s.overlaps) made = !any_failure(made ? std::nullopt : fault_, MPI_COMM_WORLD);  // a rank may lack a plan for it
    if (!made || !guarded([&] { run(s); })) return;
    for (std::size_t i = s.first; i < s.end; ++i) {
      for (std::size_t slot = 0; slot < memory_.slots(i); ++slot)
        c_.wrong += calls_[i].wrong_bytes(memory_.at(i, slot));
      if (!calls_[i].takes_part() || replaced(calls_[i])) continue;
      c_.several = c_.several || (!before_.empty() && before_ != c_.stats.algorithm);
      before_ = c_.stats.algorithm;
    }
  }

  void end() {
    if (named_ != nullptr) {
      std::array<std::uint64_t, 2> v{c_.by_default, 0};
      for (const problem& p : calls_) v[1] += p.leads() ? p.repeats() : 0;
      TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
      c_.by_default = v[0];
      if (v[0] == v[1]) {
        const auto mine = std::ranges::find_if(calls_, [&](const problem& p) { return p.takes_part(); });
        fault_ = "serves none of the calls: " +
                 (mine != calls_.end() ? why_not(*named_, mine->shape()) : "does not serve such exchanges");
      }
    }
    c_.fault = any_failure(fault_, MPI_COMM_WORLD);
  }

 private:
  [[nodiscard]] bool replaced(const problem& p) const {
    return named_ != nullptr && p.takes_part() && !named_->supports(p.shape());
  }

  void make(std::size_t i) {
    const problem& p = calls_[i];
    options o = c_.opts;
    if (replaced(p)) {
      o.algorithm = "auto";
      if (p.leads()) c_.by_default += p.repeats();
    }
    const bool plan = persistent_ || p.called().form != workloads::call_form::blocking;
    for (std::size_t slot = 0; slot < memory_.slots(i); ++slot) {
      arena& m = memory_.at(i, slot);
      c_.exchanges[i].push_back(c_.raw ? p.native(m) : (plan ? p.persistent(m, o) : p.blocking(m, o)));
    }
  }

  void run(const section& s) {
    if (s.overlaps) {
      for (std::size_t i = s.first; i < s.end; ++i)
        for (std::size_t slot = 0; slot < memory_.slots(i); ++slot) calls_[i].fill(memory_.at(i, slot));
      return execute(calls_, s, c_.exchanges);
    }
    const problem& p = calls_[s.first];
    for (std::uint64_t i = 0; p.takes_part() && i < p.repeats(); ++i) {
      p.fill(memory_.at(s.first, 0));
      c_.exchanges[s.first].at(0)();
    }
  }

  template <class F>
  bool guarded(F f) {
    try {
      f();
      return true;
    } catch (const usage_error& e) {
      fault_ = e.what();
      const detail::algorithm* const a = detail::find_algorithm(c_.requested);
      for (const problem& p : calls_)
        if (a != nullptr && p.takes_part() && !a->supports(p.shape())) {
          fault_ = fmt::format("{}: {}", e.what(), why_not(*a, p.shape()));
          break;
        }
    } catch (const budget_exceeded& e) {
      fault_ = e.what();
    }
    return false;
  }

  const std::vector<problem>& calls_;
  arenas& memory_;
  contender& c_;
  bool persistent_;
  const detail::algorithm* named_ = nullptr;
  std::optional<std::string> fault_;
  std::string_view before_;
};

// Each rank's time for a section, `inner` times.
double timed(const std::vector<problem>& calls, const section& s, arenas& memory, contender& c, int inner,
             starter& begin) {
  // In place, data must be filled in again for each exchange.
  const bool alone = !s.overlaps;
  const problem& first = calls[s.first];
  const bool anew = std::any_of(calls.begin() + static_cast<std::ptrdiff_t>(s.first),
                                calls.begin() + static_cast<std::ptrdiff_t>(s.end),
                                [](const problem& p) { return p.how() != buffering::separate; });
  const std::uint64_t times = (alone ? first.repeats() : 1) * static_cast<unsigned>(inner);
  const std::uint64_t runs = anew ? times : 1;
  double sum = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    for (std::size_t i = s.first; i < s.end; ++i)
      for (std::size_t slot = 0; slot < memory.slots(i); ++slot) calls[i].fill(memory.at(i, slot));
    const double start = begin.start();
    for (std::uint64_t k = 0; k < times / runs; ++k) {
      if (!alone)
        execute(calls, s, c.exchanges);
      else if (first.takes_part())
        c.exchanges[s.first].front()();
    }
    sum += MPI_Wtime() - start;
    // Wait for all ranks before verification, which does not yield: a rank that is done would take the core from those
    // that still exchange.
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (std::size_t i = s.first; i < s.end; ++i)
      for (std::size_t slot = 0; slot < memory.slots(i); ++slot) c.wrong += calls[i].wrong_bytes(memory.at(i, slot));
  }
  return sum;
}

using progress_of = std::function<void(const std::string&, double)>;

// One repetition: each rank's time for each section, then the slowest rank's.
double repetition(const std::vector<problem>& calls, arenas& memory, contender& c, int inner, starter& begin,
                  const progress_of& progress) {
  const auto sections = sections_of(calls);
  std::vector<double> seconds;
  constexpr int tries = 20;  // if ranks are too late for a common beginning
  for (int i = 0; i < tries; ++i) {
    seconds.clear();
    for (const section& s : sections) {
      if (sections.size() > 1)
        progress(fmt::format("{}, repetition {}:", c.requested, c.seconds.size() + 1),
                 static_cast<double>(seconds.size()) / static_cast<double>(sections.size()));
      seconds.push_back(timed(calls, s, memory, c, inner, begin));
    }
    if (!begin.missed()) break;
    c.again += static_cast<std::uint64_t>(inner);
  }
  for (const double s : seconds) c.own += s / inner;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                           MPI_COMM_WORLD));
  double total = 0;
  for (const double s : seconds) total += s;
  return total / inner;
}

// The same number on every rank.
int calibrate(const std::vector<problem>& calls, arenas& memory, contender& native, starter& begin,
              const progress_of& progress) {
  double once = repetition(calls, memory, native, 1, begin, progress);
  if (!begin.together()) return 1;  // ranks enter each exchange one after the other
  if (std::ranges::any_of(calls, [](const problem& p) { return p.how() != buffering::separate; })) return 1;
  once = std::min(once, repetition(calls, memory, native, 1, begin, progress));
  return std::clamp(static_cast<int>(std::ceil(shortest / std::max(once, 1e-7))), 1, most_inner);
}

// Removes contenders that are too slow. The same on all ranks, because the times are.
void drop_slow(std::vector<contender*>& racing, double drop) {
  double least = std::numeric_limits<double>::infinity();
  for (const contender* c : racing) least = std::min(least, median(c->seconds));
  std::erase_if(racing, [&](const contender* c) { return median(c->seconds) > drop * least; });
}

// The mean seconds of a repetition, over the ranks.
void over_ranks(contender& c) {
  const double mine = c.seconds.empty() ? 0 : c.own / static_cast<double>(c.seconds.size());
  std::array<double, 3> v{mine, -mine, mine};
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &v[2], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  int ranks = 1;
  TAQUIN_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  c.rank_max = v[0];
  c.rank_min = -v[1];
  c.rank_mean = v[2] / ranks;
}

// True when every interval is narrow enough. The same on all ranks, because the times are.
bool narrow(const std::vector<contender>& contenders, double until) {
  return std::ranges::all_of(contenders, [&](const contender& c) {
    if (c.fault || c.seconds.empty()) return true;
    const summary s = summarise(c.seconds);
    return s.ci95.high - s.ci95.low <= until * s.median;
  });
}

// Repetitions of one round of all contenders.
class round_of_all {
 public:
  round_of_all(std::vector<contender>& contenders, const measure_settings& settings,
               const std::function<double(contender&)>& repetition)
      : contenders_(contenders), settings_(settings), repetition_(repetition) {}

  void run(const std::vector<contender*>& racing, const measured& m) {
    contender& native = contenders_.front();
    if (racing.empty()) {
      native.seconds.push_back(repetition_(native));
      save(native.seconds.back(), m);
    }
    for (contender* c : racing) {
      // The order rotates, because each contender finds caches and peers as the one before has left them.
      contender* const first = m.repetitions % 2 == 0 ? &native : c;
      contender* const second = m.repetitions % 2 == 0 ? c : &native;
      first->seconds.push_back(repetition_(*first));
      second->seconds.push_back(repetition_(*second));
      c->ratios.push_back(c->seconds.back() / native.seconds.back());
      save(first->seconds.back() + second->seconds.back(), m);
    }
  }

 private:
  // The same on all ranks, because the times are.
  void save(double seconds, const measured& m) {
    unsaved_ += seconds * m.inner;
    if (!settings_.so_far || unsaved_ < until_saved) return;
    settings_.so_far(m, results_of(contenders_));
    unsaved_ = 0;
  }

  std::vector<contender>& contenders_;
  const measure_settings& settings_;
  const std::function<double(contender&)>& repetition_;
  double unsaved_ = 0;
};

// From sums to figures of one exchange. Collective.
void settle(contender& c, const std::vector<problem>& calls, const measured& m) {
  const auto executed = c.seconds.size() * static_cast<std::uint64_t>(m.inner) + 1;
  if (c.raw)
    for (const problem& p : calls) p.account(c.stats);
  if (!c.fault) reduce(c, c.raw ? 1 : executed + c.again);
  over_ranks(c);
}

}  // namespace

std::vector<contender> results_of(std::vector<contender>& contenders) {
  std::vector<contender> results;
  for (contender& c : contenders) {
    if (!c.fault && c.seconds.empty()) continue;
    auto calls = std::move(c.calls);
    auto exchanges = std::move(c.exchanges);
    results.push_back(c);
    c.calls = std::move(calls);
    c.exchanges = std::move(exchanges);
  }
  return results;
}

void reduce(contender& c, std::uint64_t done) {
  statistics& s = c.stats;
  std::array<std::uint64_t, 6> v{s.rounds / done,       s.messages / done, s.bytes_sent / done,
                                 s.bytes_copied / done, s.peak_memory,     c.several ? 1U : 0U};
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, v.data(), 6, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
  auto& parts = s.in_place_phases;
  const auto each = static_cast<double>(done);
  std::array<double, 3> times{parts.requests / each, parts.data / each, parts.update / each};
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, times.data(), 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  parts = {times[0], times[1], times[2]};
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &c.wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  s.rounds = v[0];
  s.messages = v[1];
  s.bytes_sent = v[2];
  s.bytes_copied = v[3];
  s.peak_memory = v[4];
  c.several = v[5] != 0;
  c.name = c.requested;
  if (c.several) {
    c.name = "several";
  } else if (!c.raw && !c.default_for_others && !s.algorithm.empty()) {
    c.name = s.algorithm;
  }
}

measured race(std::vector<contender>& contenders, int inner, const measure_settings& settings,
              const std::function<double(contender&)>& repetition, const std::function<void(double)>& progress) {
  measured m{.inner = inner};
  std::vector<contender*> racing;
  for (contender& c : contenders)
    if (!c.raw && !c.fault) racing.push_back(&c);

  const bool until = settings.until > 0;
  const int most = settings.repetitions > 0 ? settings.repetitions : (until ? 100 : 1) * most_repetitions;
  const double allowed =
      (until ? longest_each : seconds_each) * static_cast<double>(std::max<std::size_t>(racing.size(), 1));
  const double start = MPI_Wtime();
  round_of_all round(contenders, settings, repetition);
  for (int done = 0; done < most; ++done) {
    double elapsed = MPI_Wtime() - start;
    TAQUIN_MPI(MPI_Bcast(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (settings.repetitions == 0 && done >= least_repetitions && elapsed > allowed) break;
    if (until && done >= least_until && narrow(contenders, settings.until)) break;
    if (settings.drop > 0 && done == before_dropping && !racing.empty()) drop_slow(racing, settings.drop);
    progress(settings.repetitions > 0 ? done / static_cast<double>(most)
                                      : std::max(done / static_cast<double>(most), std::min(elapsed / allowed, 1.0)));
    round.run(racing, m);
    m.repetitions = done + 1;
  }
  return m;
}

measured measure(const std::vector<problem>& calls, arenas& memory, std::vector<contender>& contenders,
                 const measure_settings& settings, const std::function<void(const std::string&, double)>& progress) {
  const auto sections = sections_of(calls);
  for (contender& c : contenders) {
    first_run first(calls, memory, c, settings.persistent);
    for (std::size_t i = 0; i < sections.size(); ++i) {
      progress(c.requested + ", first run:", static_cast<double>(i) / static_cast<double>(sections.size()));
      first.of(sections[i]);
    }
    first.end();
  }
  starter begin(settings.sync, settings.when, settings.seed);
  const int inner = settings.batch > 0 ? settings.batch : calibrate(calls, memory, contenders.front(), begin, progress);
  for (contender& c : contenders) c.own = 0, c.again = 0;
  measure_settings settled = settings;
  if (settings.so_far)
    settled.so_far = [&](const measured& m, std::vector<contender> some) {
      for (contender& c : some) settle(c, calls, m);
      settings.so_far(m, some);
    };
  const measured m = race(
      contenders, inner, settled, [&](contender& c) { return repetition(calls, memory, c, inner, begin, progress); },
      [&](double part) {
        begin.next_repetition();
        progress({}, part);
      });
  for (contender& c : contenders) {
    settle(c, calls, m);
    c.exchanges.clear();  // plans are freed before their communicators
  }
  return m;
}

}  // namespace taquin::harness
