#include "harness/sparse_measure.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/sizes.hpp"
#include "harness/pattern.hpp"
#include "harness/repetitions.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace taquin::harness {

namespace {

constexpr count_t nothing = -1;

// Of each rank's blocks as one rank has them: a rank with bytes in the workload has `bytes` in a problem per pair.
std::vector<count_t> sizes(std::vector<count_t> row, count_t bytes, bool per_pair) {
  for (count_t& n : row) n = n == 0 ? nothing : (per_pair ? bytes : n);
  return row;
}

// A contender and its exchange.
class runner {
 public:
  runner(const sparse_problem& x, contender& c) : x_(x), c_(c) {
    c.opts.algorithm = c.requested;
    c.opts.stats = c.raw ? nullptr : &c.stats;
    if (c.raw) method_ = find_sparse_method(c.requested)->make(MPI_COMM_WORLD);
  }

  // An error of all ranks disqualifies it.
  void first_run() {
    std::optional<std::string> fault;
    if (c_.raw) {
      count_t incoming = 0;
      for (const count_t n : x_.expected) incoming += std::max<count_t>(n, 0);
      fault = beyond_sparse_methods(std::max(incoming, static_cast<count_t>(x_.sent.data.size())));
    }
    c_.fault = any_failure(fault, MPI_COMM_WORLD);
    if (c_.fault) return;
    try {
      repetition(1);
    } catch (const usage_error& e) {
      c_.fault = e.what();
    } catch (const budget_exceeded& e) {
      c_.fault = e.what();
    }
    c_.fault = any_failure(c_.fault, MPI_COMM_WORLD);
  }

  // The slowest rank's seconds of one exchange.
  double repetition(int inner) {
    // The arrays' contents must have arrived now: their memory is kept, as programs do.
    std::ranges::fill(arrived_.data, poison);
    TAQUIN_MPI(PMPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    for (int i = 0; i < inner; ++i) run();
    exchanges_ += static_cast<std::uint64_t>(inner);
    double seconds = (MPI_Wtime() - start) / inner;
    TAQUIN_MPI(PMPI_Barrier(MPI_COMM_WORLD));
    c_.wrong += x_.wrong_bytes(arrived_);
    TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return seconds;
  }

  void end() {
    if (c_.fault) return;
    if (c_.raw) c_.stats = account(*find_sparse_method(c_.requested), x_.sent, MPI_COMM_WORLD);
    reduce(c_, c_.raw ? 1 : exchanges_);
  }

  [[nodiscard]] contender& who() const noexcept { return c_; }

 private:
  void run() {
    if (method_ != nullptr) return method_->run(x_.sent, arrived_);
    static_cast<void>(detail::sparse_access::make(
        {x_.sent.data.data(), x_.sent.destinations, count_view(x_.sent.counts.data()), MPI_BYTE}, MPI_COMM_WORLD,
        c_.opts, nullptr, [this](const sparse_call& call) -> void* {
          arrived_.sources.assign(call.sources().begin(), call.sources().end());
          arrived_.counts.assign(call.counts().begin(), call.counts().end());
          arrived_.data.resize(detail::as_size(call.total()));
          return arrived_.data.data();
        }));
  }

  const sparse_problem& x_;
  contender& c_;
  std::unique_ptr<hand_written_sparse> method_;
  sparse_arrived arrived_;
  std::uint64_t exchanges_ = 0;
};

// So many exchanges that the fastest takes long enough for the clock.
int calibrate(const std::vector<runner*>& racing) {
  double least = shortest;
  for (runner* r : racing) {
    r->repetition(1);
    least = std::min(least, r->repetition(1));
  }
  return std::clamp(static_cast<int>(std::ceil(shortest / std::max(least, 1e-7))), 1, most_inner);
}

// To the fastest hand-written one, in the same repetition.
void compare(std::vector<contender>& contenders) {
  const contender* best = nullptr;
  for (const contender& c : contenders)
    if (c.raw && !c.fault && (best == nullptr || median(c.seconds) < median(best->seconds))) best = &c;
  if (best == nullptr) return;
  for (contender& c : contenders)
    for (std::size_t i = 0; i < c.seconds.size(); ++i) c.ratios.push_back(c.seconds[i] / best->seconds[i]);
}

}  // namespace

sparse_problem::sparse_problem(const workloads::workload& w, count_t bytes, bool per_pair, std::uint64_t seed) {
  int ranks = 1;
  TAQUIN_MPI(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
  TAQUIN_MPI(PMPI_Comm_size(MPI_COMM_WORLD, &ranks));
  // With sizes per pair the workload only determines the pairs of ranks: its own size is so large that no rank's part
  // is empty.
  const workloads::problem_size size{ranks, per_pair ? count_t{ranks} << 20U : bytes, seed};
  const auto row = sizes(w.row(size, rank), bytes, per_pair);
  expected = sizes(w.column(size, rank), bytes, per_pair);
  for (int to = 0; to < ranks; ++to) {
    const count_t n = row[detail::as_size(to)];
    if (n == nothing) continue;
    const std::size_t at = sent.data.size();
    sent.destinations.push_back(to);
    sent.counts.push_back(n);
    sent.data.resize(at + detail::as_size(n));
    write_pattern(std::span(sent.data).subspan(at), rank, to);
  }
}

count_t sparse_problem::wrong_bytes(const sparse_arrived& arrived) const {
  count_t wrong = 0;
  std::vector<bool> seen(expected.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < arrived.sources.size(); ++i) {
    const auto from = detail::as_size(arrived.sources[i]);
    const count_t n = arrived.counts[i];
    const std::span block(arrived.data.data() + at, detail::as_size(n));
    at += block.size();
    if (expected[from] != n || seen[from])
      wrong += std::max<count_t>({n, expected[from], 1});
    else
      wrong += wrong_in_pattern(block, arrived.sources[i], rank);
    seen[from] = true;
  }
  for (std::size_t from = 0; from < expected.size(); ++from)
    if (!seen[from]) wrong += std::max<count_t>(expected[from], 0);
  return wrong;
}

measured measure(const sparse_problem& x, std::vector<contender>& contenders, const measure_settings& settings,
                 const std::function<void(double)>& progress) {
  std::vector<runner> all;
  all.reserve(contenders.size());
  std::vector<runner*> racing;
  for (contender& c : contenders) {
    all.emplace_back(x, c).first_run();
    if (!c.fault) racing.push_back(&all.back());
  }
  measured m{.inner = settings.batch > 0 ? settings.batch : calibrate(racing)};
  const double allowed = seconds_each * static_cast<double>(racing.size());
  const double start = MPI_Wtime();
  while (settings.repetitions == 0 ? m.repetitions < most_repetitions : m.repetitions < settings.repetitions) {
    double elapsed = MPI_Wtime() - start;
    TAQUIN_MPI(PMPI_Bcast(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (settings.repetitions == 0 && m.repetitions >= least_repetitions && elapsed > allowed) break;
    progress(std::min(elapsed / allowed, 1.0));
    // In turn: the second one finds the caches and the peers as the first left them.
    if (!racing.empty()) std::ranges::rotate(racing, racing.begin() + 1);
    for (runner* r : racing) r->who().seconds.push_back(r->repetition(m.inner));
    ++m.repetitions;
  }
  compare(contenders);
  for (runner& r : all) r.end();
  return m;
}

}  // namespace taquin::harness
