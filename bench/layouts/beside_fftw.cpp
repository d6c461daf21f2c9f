// Transposes of slabs and 3-D Fourier transforms beside FFTW's over MPI, interleaved: time and resident memory.
// mpirun -n 4 bench_beside_fftw [--extents 128 128 128] [--work in-place|out-of-place|transform] [--seconds 5] [--json]
#include <fftw3-mpi.h>
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "examples/fourier.hpp"
#include "harness/interleaved.hpp"
#include "harness/resident.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/layout.hpp"

namespace taquin::harness {

namespace {

using number = std::complex<double>;
using sizes = std::array<count_t, 3>;

struct settings {
  std::vector<count_t> extents{128, 128, 128};
  std::string work = "in-place";
  double percent = 5;  // of the array: scratch memory, at least 1 MiB
  double seconds = 5;
  bool json = false;
};

struct free_plan {
  void operator()(fftw_plan_s* plan) const { fftw_destroy_plan(plan); }
};
using plan = std::unique_ptr<fftw_plan_s, free_plan>;

fftw_complex* complex_of(std::vector<number>& v) { return reinterpret_cast<fftw_complex*>(v.data()); }
double* real_of(std::vector<number>& v) { return reinterpret_cast<double*>(v.data()); }

number value_at(std::size_t k) { return {static_cast<double>(k % 9973) / 9973, static_cast<double>(k % 1009) / 1009}; }

// One way to do the work, on arrays of its own.
struct contender {
  layout planes{};  // of the array before the work
  std::vector<number> array{};
  std::vector<number> other{};  // where the work has two arrays
  std::function<void()> run{};
  std::vector<double> times{};
  std::size_t extra = 0;

  [[nodiscard]] const std::vector<number>& result() const { return other.empty() ? array : other; }
  // By the place of an element in the whole array.
  void fill(int rank) {
    count_t origin = 0;
    for (int r = 0; r < rank; ++r) origin += planes.local_size(r);
    const auto mine = detail::as_size(planes.local_size(rank));
    for (std::size_t k = 0; k < mine; ++k) array[k] = value_at(detail::as_size(origin) + k);
    std::ranges::fill(other, number{});
  }
};

class race {
 public:
  race(const settings& s, int rank, int ranks) : s_(s), rank_(rank), ranks_(ranks) {
    std::ranges::copy(s.extents, n_.begin());
    using cut = dimension;
    planes_ = layout({cut::block_of(n_[0], ranks), cut::whole(n_[1]), cut::whole(n_[2])});
    columns_ = layout({cut::whole(n_[0]), cut::block_of(n_[1], ranks), cut::whole(n_[2])}).stored(std::array{1, 0, 2});
    ours_.planes = theirs_.planes = planes_;
    begin_ = detail::as_size(planes_.local_size(rank));
    end_ = detail::as_size(s.work == "transform" ? planes_.local_size(rank) : columns_.local_size(rank));
    const double bytes = static_cast<double>(std::max(begin_, end_) * sizeof(number));
    memory_ = std::max<std::size_t>(static_cast<std::size_t>(bytes * s.percent / 100), std::size_t{1} << 20U);
  }

  int run() {
    fftw_mpi_init();
    int status = 1;
    if (s_.work == "transform") {
      const fourier_stages stages(n_, ranks_, 1);
      ours_.planes = stages.layout();
      status = compare([&] { transform_by_fftw(); }, [&] { transform_by_taquin(stages); });
    } else {
      status = compare([&] { transpose_by_fftw(); }, [&] { transpose_by_taquin(); });
    }
    mine_ = {};
    transform_ = {};
    plan_.reset();
    fftw_mpi_cleanup();
    return status;
  }

 private:
  [[nodiscard]] bool two_arrays() const { return s_.work == "out-of-place"; }

  void transpose_by_taquin() {
    const std::size_t most = std::max(begin_, end_);
    ours_.array.resize(two_arrays() ? begin_ : most);
    ours_.other.resize(two_arrays() ? end_ : 0);
    const layout_options o{.memory = memory_};
    if (two_arrays())
      mine_ = std::make_unique<layout_redistribution>(ours_.array.data(), planes_, ours_.other.data(), columns_,
                                                      MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD, o);
    else
      mine_ = std::make_unique<layout_redistribution>(ours_.array.data(), planes_, columns_, MPI_C_DOUBLE_COMPLEX,
                                                      MPI_COMM_WORLD, o);
    ours_.run = [this] { (*mine_)(); };
  }

  void transpose_by_fftw() {
    const std::array<std::ptrdiff_t, 2> n{n_[0], n_[1]};
    const std::ptrdiff_t many = 2 * n_[2];
    std::ptrdiff_t rows = 0, first_row = 0, columns = 0, first_column = 0;
    const std::ptrdiff_t size =
        fftw_mpi_local_size_many_transposed(2, n.data(), many, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
                                            MPI_COMM_WORLD, &rows, &first_row, &columns, &first_column);
    theirs_.array.resize(detail::as_size(size) / 2 + 1);
    theirs_.other.resize(two_arrays() ? theirs_.array.size() : 0);
    plan_.reset(fftw_mpi_plan_many_transpose(n[0], n[1], many, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
                                             real_of(theirs_.array),
                                             real_of(two_arrays() ? theirs_.other : theirs_.array), MPI_COMM_WORLD,
                                             two_arrays() ? FFTW_MEASURE | FFTW_DESTROY_INPUT : FFTW_MEASURE));
    theirs_.run = [this] { fftw_execute(plan_.get()); };
  }

  void transform_by_taquin(const fourier_stages& stages) {
    ours_.array.resize(stages.local_size(rank_));
    transform_ = std::make_unique<fourier_3d>(stages, ours_.array, MPI_COMM_WORLD, memory_);
    ours_.run = [this] { (*transform_)(FFTW_FORWARD); };
  }

  void transform_by_fftw() {
    std::ptrdiff_t planes = 0, first = 0;
    theirs_.array.resize(detail::as_size(fftw_mpi_local_size_3d(n_[0], n_[1], n_[2], MPI_COMM_WORLD, &planes, &first)));
    plan_.reset(fftw_mpi_plan_dft_3d(n_[0], n_[1], n_[2], complex_of(theirs_.array), complex_of(theirs_.array),
                                     MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE));
    theirs_.run = [this] { fftw_execute(plan_.get()); };
  }

  int compare(const std::function<void()>& prepare_theirs, const std::function<void()>& prepare_ours) {
    prepare_theirs();
    prepare_ours();
    if (plan_ == nullptr) throw usage_error("FFTW has no plan for this", MPI_ERR_ARG);
    std::vector<double> ratios;
    interleave(s_.seconds, 7, [&] {
      for (contender* c : {&ours_, &theirs_}) measure(*c);
      check();
      if (ours_.times.size() > 1) ratios.push_back(ours_.times.back() / theirs_.times.back());  // the first maps memory
    });
    if (rank_ == 0) report(summarise(ratios));
    return wrong_ == 0 ? 0 : 1;
  }

  void measure(contender& c) {
    c.fill(rank_);
    const resident_memory memory;
    c.times.push_back(slowest(c.run));
    std::size_t extra = memory.most_more();
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &extra, 1, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD));
    c.extra = std::max(c.extra, extra);  // what the first call allocates and keeps included
  }

  void check() {
    const double scale = std::sqrt(static_cast<double>(n_[0] * n_[1] * n_[2]));
    std::vector<number> mine(end_);
    if (s_.work == "transform")  // which FFTW cuts otherwise
      redistribute(ours_.array.data(), ours_.planes, mine.data(), planes_, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    else
      std::copy_n(ours_.result().begin(), end_, mine.begin());
    for (std::size_t k = 0; k < end_; ++k)
      if (std::abs(mine[k] - theirs_.result()[k]) > 1e-11 * scale) ++wrong_;
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &wrong_, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  }

  void report(const summary& ratio) const {
    const std::size_t array = std::max(begin_, end_) * sizeof(number);
    const auto later = [](const contender& c) { return std::vector(c.times.begin() + 1, c.times.end()); };
    const nlohmann::json record{{"ranks", ranks_},
                                {"extents", s_.extents},
                                {"work", s_.work},
                                {"array_bytes", array},
                                {"memory", memory_},
                                {"median_s", median(later(ours_))},
                                {"fftw_median_s", median(later(theirs_))},
                                {"ratio", ratio.median},
                                {"ratio_ci95", {ratio.ci95.low, ratio.ci95.high}},
                                {"extra_bytes", ours_.extra},
                                {"fftw_extra_bytes", theirs_.extra},
                                {"wrong", wrong_}};
    if (s_.json) return fmt::print("{}\n", record.dump());
    const auto share = [&](std::size_t bytes) { return 100 * static_cast<double>(bytes) / static_cast<double>(array); };
    fmt::print(
        "{} ranks, {} x {} x {}, {}: {:.2f} ms, FFTW {:.2f} ms, ratio {:.2f}, {:.2f} to {:.2f}; resident beyond the "
        "arrays {:.1f}% of one, FFTW {:.1f}%\n",
        ranks_, n_[0], n_[1], n_[2], s_.work, median(later(ours_)) * 1e3, median(later(theirs_)) * 1e3, ratio.median,
        ratio.ci95.low, ratio.ci95.high, share(ours_.extra), share(theirs_.extra));
  }

  const settings& s_;
  int rank_;
  int ranks_;
  sizes n_{};
  layout planes_, columns_;
  std::size_t begin_ = 0;  // elements of this rank before, and after
  std::size_t end_ = 0;
  std::size_t memory_ = 0;
  int wrong_ = 0;
  contender ours_, theirs_;
  std::unique_ptr<layout_redistribution> mine_;
  std::unique_ptr<fourier_3d> transform_;
  plan plan_;
};

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("transposes and Fourier transforms, beside FFTW's over MPI");
  taquin::harness::settings s;
  app.add_option("--extents", s.extents, "of the array of complex numbers")->expected(3)->check(CLI::PositiveNumber);
  app.add_option("--work", s.work, "in-place, out-of-place: a transpose of slabs; transform: a 3-D transform in place")
      ->check(CLI::IsMember({"in-place", "out-of-place", "transform"}));
  app.add_option("--memory", s.percent, "scratch memory, percent of the array, at least 1 MiB");
  app.add_option("--seconds", s.seconds, "to measure");
  app.add_flag("--json", s.json, "a line of JSON");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::race(s, rank, ranks).run(); });
}
