#include "bench/regret/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "algorithms/algorithm.hpp"
#include "bench/regret/subject.hpp"
#include "harness/session.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"

namespace taquin::regret {

namespace {

constexpr double least_block = 1e-3;  // seconds
constexpr int most_inner = 5000;
constexpr int least_pairs = 7;
constexpr int most_pairs = 31;
constexpr double enough = 0.02;     // half the interval, as a part of the ratio
constexpr double most_seconds = 1;  // for a measurement

// One way to make the cell's calls.
class way {
 public:
  // Empty name: the MPI library's own call.
  way(const cell& c, subject& shared, std::string name) : c_(c), shared_(shared), name_(std::move(name)) {
    opts_.algorithm = name_;
    opts_.stats = name_.empty() ? nullptr : &stats_;
    if (c.memory > 0) opts_.memory = static_cast<std::size_t>(c.memory);
  }

  // On all ranks: why it cannot run.
  std::optional<std::string> prepare() {
    std::optional<std::string> fault;
    try {
      operations_ = operations_of(shared_);
      for (std::size_t k = 0; k < operations_.size(); ++k) {
        shared_.fill(k, name_.empty());
        operations_[k]();
        wrong_ += shared_.wrong(k, name_.empty());
      }
    } catch (const error& e) {
      fault = e.what();
    }
    return harness::any_failure(fault, MPI_COMM_WORLD);
  }

  // Seconds of one call on the slowest rank, of `inner` calls.
  double block(int inner, std::uint64_t number) {
    for (std::size_t k = 0; k < shared_.calls(); ++k) shared_.fill(k, name_.empty());
    double seconds = c_.life > 0 ? lives(inner, number) : calls(operations_, inner, number);
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    if (c_.use != "in_place" && c_.use != "blocks" && c_.life == 0)
      for (std::size_t k = 0; k < shared_.calls() && k < static_cast<std::size_t>(inner); ++k)
        wrong_ += shared_.wrong(k, name_.empty());
    return seconds / inner;
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string ran() const { return std::string(stats_.algorithm); }
  [[nodiscard]] count_t wrong() const noexcept { return wrong_; }

 private:
  std::vector<harness::operation> operations_of(subject& s) {
    std::vector<harness::operation> all;
    for (std::size_t k = 0; k < s.calls(); ++k) all.push_back(name_.empty() ? s.native(k) : s.ours(k, opts_));
    return all;
  }

  // A rank's delay before it arrives: the same for both algorithms.
  void arrive(std::uint64_t number) const {
    if (c_.skew == 0) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::mt19937_64 random(c_.seed * 1000003 + number * 1009 + static_cast<unsigned>(rank));
    const double end = MPI_Wtime() + static_cast<double>(random() % static_cast<unsigned>(c_.skew)) * 1e-6;
    while (MPI_Wtime() < end) {
    }
  }

  // Work between start and wait: about 10 us.
  static void compute() {
    static volatile double sink = 1;
    double x = sink;
    for (int i = 0; i < 5000; ++i) x = x * 0.999999 + 1e-6;
    sink = x;
  }

  void once(harness::operation& op) const {
    op.begin();
    if (c_.use == "overlap") compute();
    if (op.end) op.end();
  }

  double calls(std::vector<harness::operation>& ops, int inner, std::uint64_t number) const {
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    double sum = 0;
    double start = MPI_Wtime();
    for (int i = 0; i < inner; ++i) {
      if (c_.pace == "barrier" && i > 0) {
        sum += MPI_Wtime() - start;
        TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
        start = MPI_Wtime();
      }
      arrive(number + static_cast<unsigned>(i));
      once(ops[static_cast<std::size_t>(i) % ops.size()]);
    }
    return sum + MPI_Wtime() - start;
  }

  // Communicators that are made again and again, each for a few calls. The cost of freeing them counts.
  double lives(int inner, std::uint64_t number) {
    double sum = 0;
    for (int done = 0; done < inner; done += c_.life) {
      MPI_Comm fresh = MPI_COMM_NULL;
      TAQUIN_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &fresh));
      {
        const auto s = make_subject(c_, fresh);
        auto ops = operations_of(*s);
        for (std::size_t k = 0; k < s->calls(); ++k) s->fill(k, name_.empty());
        sum += calls(ops, std::min(c_.life, inner - done), number + static_cast<unsigned>(done));
      }
      const double start = MPI_Wtime();
      TAQUIN_MPI(MPI_Comm_free(&fresh));
      sum += MPI_Wtime() - start;
    }
    return sum;
  }

  const cell& c_;
  subject& shared_;
  std::string name_;
  options opts_{};
  statistics stats_{};
  std::vector<harness::operation> operations_;
  count_t wrong_ = 0;
};

double from_first(double mine) {
  TAQUIN_MPI(MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
  return mine;
}

int calls_of_a_block(const cell& c, way& native, way& ours) {
  const int least = std::max(c.life, c.sizes == "change" ? 4 : 1);
  double once = std::numeric_limits<double>::max();
  for (int i = 0; i < 2; ++i) once = std::min({once, native.block(least, 0), ours.block(least, 0)});
  const double wanted = std::ceil(least_block / std::max(once, 1e-8));
  const double shortest = c.pace == "barrier" || c.life > 0 ? wanted / 4 : wanted;
  return static_cast<int>(std::clamp<double>(std::max<double>(least, shortest), 1, most_inner));
}

result race(const cell& c, way& rival, way& ours) {
  result r;
  const int inner = calls_of_a_block(c, rival, ours);
  std::vector<double> theirs, mine, ratios;
  const double start = MPI_Wtime();
  for (int pair = 0; pair < most_pairs; ++pair) {
    const auto number = static_cast<std::uint64_t>(pair) * 100000;
    way& first = pair % 2 == 0 ? rival : ours;
    way& second = pair % 2 == 0 ? ours : rival;
    const double a = first.block(inner, number);
    const double b = second.block(inner, number);
    theirs.push_back(pair % 2 == 0 ? a : b);
    mine.push_back(pair % 2 == 0 ? b : a);
    ratios.push_back(mine.back() / theirs.back());
    if (pair + 1 < least_pairs) continue;
    r.ratio = harness::summarise(ratios);
    const double half = (r.ratio.ci95.high - r.ratio.ci95.low) / 2;
    if (half < enough * r.ratio.median || from_first(MPI_Wtime() - start) > most_seconds) break;
  }
  r.ratio = harness::summarise(ratios);
  r.seconds = harness::median(mine);
  r.native_seconds = harness::median(theirs);
  r.wrong = rival.wrong() + ours.wrong();
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &r.wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  r.algorithm = ours.ran();
  r.rival = rival.name().empty() ? "native" : rival.name();
  return r;
}

// Noise makes a call slower, never faster than it is: the least of three counts.
result again_when_slow(const cell& c, double again, way& rival, way& ours, result first) {
  result best = std::move(first);
  while (best.times < 3 && best.ratio.median > again) {
    const int times = best.times + 1;
    result r = race(c, rival, ours);
    r.wrong += best.wrong;
    if (r.ratio.median < best.ratio.median) best = std::move(r);
    best.times = times;
  }
  return best;
}

result refused(std::string why) {
  result r;
  r.fault = std::move(why);
  return r;
}

}  // namespace

result against_native(const cell& c, double again) {
  const auto s = make_subject(c, MPI_COMM_WORLD);
  way native(c, *s, "");
  way ours(c, *s, "auto");
  if (const auto fault = native.prepare()) return refused(*fault);
  if (const auto fault = ours.prepare()) return refused(*fault);
  result first = race(c, native, ours);
  return again_when_slow(c, again, native, ours, std::move(first));
}

result against_named(const cell& c, double again) {
  const auto s = make_subject(c, MPI_COMM_WORLD);
  if (s->shape(0) == nullptr) return refused("its shape is not known");
  way ours(c, *s, "auto");
  if (const auto fault = ours.prepare()) return refused(*fault);
  std::unique_ptr<way> best;
  result of_best;
  for (const detail::algorithm* a : detail::algorithms()) {
    bool serves = true;
    for (std::size_t k = 0; k < s->calls(); ++k) serves = serves && a->supports(*s->shape(k));
    if (!serves) continue;
    auto named = std::make_unique<way>(c, *s, std::string(a->name));
    if (named->prepare()) continue;
    result r = race(c, *named, ours);
    // The figures of rank 0 are those of all: medians of times that all ranks have agreed on.
    if (best != nullptr && r.ratio.median <= of_best.ratio.median) continue;
    best = std::move(named);
    of_best = std::move(r);
  }
  if (best == nullptr) return refused("no algorithm serves it");
  return again_when_slow(c, again, *best, ours, std::move(of_best));
}

}  // namespace taquin::regret
