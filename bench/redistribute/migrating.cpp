// Elements to ranks: migrate with a memory limit, beside a program's own pack, MPI_Alltoallv and unpack. Interleaved.
// mpirun -n 4 bench_migrating [--elements 100000] [--element-bytes 56] [--memory 1%] [--seconds 5]
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "harness/interleaved.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/migrate.hpp"

namespace taquin::harness {

namespace {

struct settings {
  int elements = 100000;
  int element_bytes = 56;
  double percent = 1;  // of the data, beside 4 bytes for each element; 0: no limit
  bool once = true;
  double seconds = 5;
  bool json = false;
};

// A number of one rank and where it goes, in as many bytes as wanted.
template <std::size_t Bytes>
struct numbered {
  std::int32_t to = 0;
  std::int32_t number = 0;
  std::array<char, Bytes - 8> rest{};
};
template <>
struct numbered<8> {
  std::int32_t to = 0;
  std::int32_t number = 0;
};

template <class T>
class race {
 public:
  race(const settings& s, int rank, int ranks) : s_(s), rank_(rank), ranks_(ranks) {
    std::mt19937 random(static_cast<unsigned>(rank) + 1);
    original_.resize(detail::as_size(s.elements));
    for (int k = 0; k < s.elements; ++k) {
      T& e = original_[detail::as_size(k)];
      e.to = static_cast<std::int32_t>(random() % static_cast<unsigned>(ranks));
      e.number = k;
    }
    elements_.reserve(original_.size() * 5 / 4 + 1024);
  }

  int run() {
    std::vector<double> ours;
    std::vector<double> theirs;
    std::vector<double> ratios;
    statistics done;
    interleave(s_.seconds, 8, [&] {
      ours.push_back(timed([&] { migrate_them(done); }));
      theirs.push_back(timed([&] { by_copies(); }));
      ratios.push_back(ours.back() / theirs.back());
    });
    const summary ratio = summarise(ratios);
    std::size_t peak = done.peak_memory;
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD));
    if (rank_ == 0) report(median(ours), median(theirs), ratio, peak);
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  template <class Step>
  double timed(Step step) {
    elements_.assign(original_.begin(), original_.end());
    const double time = slowest(step);
    for (const T& e : elements_) wrong_ += e.to != rank_;
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &wrong_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    return time;
  }
  void migrate_them(statistics& done) {
    const double bytes = static_cast<double>(original_.size() * sizeof(T)) * s_.percent / 100;
    const std::size_t tables = s_.once ? 4 * original_.size() : 0;
    const auto scratch =
        tables + std::max<std::size_t>(static_cast<std::size_t>(bytes), 65536) + 64 * detail::as_size(ranks_);
    migrate(elements_, [](const T& e) { return e.to; }, MPI_COMM_WORLD,
            {.memory = s_.percent > 0 ? scratch : unlimited, .stats = &done, .once = s_.once});
  }
  void by_copies() {
    const std::size_t p = detail::as_size(ranks_);
    std::vector<int> counts(p), at(p), in(p), in_at(p);
    for (const T& e : elements_) ++counts[detail::as_size(e.to)];
    TAQUIN_MPI(MPI_Alltoall(counts.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD));
    std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
    std::exclusive_scan(in.begin(), in.end(), in_at.begin(), 0);
    const auto arriving = detail::as_size(in_at.back() + in.back());
    out_.resize(elements_.size());
    in_buffer_.resize(arriving);
    auto next = at;
    for (const T& e : elements_) out_[detail::as_size(next[detail::as_size(e.to)]++)] = e;
    for (auto* list : {&counts, &at, &in, &in_at})
      for (int& n : *list) n *= static_cast<int>(sizeof(T));
    TAQUIN_MPI(MPI_Alltoallv(out_.data(), counts.data(), at.data(), MPI_BYTE, in_buffer_.data(), in.data(),
                             in_at.data(), MPI_BYTE, MPI_COMM_WORLD));
    elements_.assign(in_buffer_.begin(), in_buffer_.end());
  }
  void report(double ours, double theirs, const summary& ratio, std::size_t peak) const {
    const double data = static_cast<double>(original_.size() * sizeof(T));
    if (!s_.json) {
      fmt::print(
          "{} ranks, {} elements of {} bytes, {}: {:.2f} ms, by copies {:.2f} ms, ratio {:.2f}, {:.2f} to {:.2f}; peak "
          "{:.1f}% of the data\n",
          ranks_, s_.elements, sizeof(T), s_.percent > 0 ? fmt::format("{}%", s_.percent) : "no limit", ours * 1e3,
          theirs * 1e3, ratio.median, ratio.ci95.low, ratio.ci95.high, static_cast<double>(peak) / data * 100);
      return;
    }
    const nlohmann::json record{{"ranks", ranks_},
                                {"elements", s_.elements},
                                {"element_bytes", sizeof(T)},
                                {"memory_percent", s_.percent},
                                {"once", s_.once},
                                {"median_s", ours},
                                {"copies_median_s", theirs},
                                {"ratio", ratio.median},
                                {"ratio_ci95", {ratio.ci95.low, ratio.ci95.high}},
                                {"peak_memory", peak},
                                {"wrong", wrong_}};
    fmt::print("{}\n", record.dump());
  }

  const settings& s_;
  int rank_;
  int ranks_;
  int wrong_ = 0;
  std::vector<T> original_, elements_, out_, in_buffer_;
};

int work(const settings& s, int rank, int ranks) {
  if (s.element_bytes == 8) return race<numbered<8>>(s, rank, ranks).run();
  if (s.element_bytes == 56) return race<numbered<56>>(s, rank, ranks).run();
  return race<numbered<1024>>(s, rank, ranks).run();
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("migrations, beside copies to and from a second array");
  taquin::harness::settings s;
  app.add_option("--elements", s.elements, "of each rank")->check(CLI::PositiveNumber);
  app.add_option("--element-bytes", s.element_bytes, "8, 56 or 1024")->check(CLI::IsMember({8, 56, 1024}));
  app.add_option("--memory", s.percent, "percent of the data, at least 64 KiB, beside the destinations; 0: no limit");
  app.add_flag("!--twice", s.once, "the destination function is called twice for an element");
  app.add_option("--seconds", s.seconds, "to measure");
  app.add_flag("--json", s.json, "a line of JSON");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(s, rank, ranks); });
}
