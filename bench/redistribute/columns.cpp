// Eight arrays whose items belong together: one migrate for all of them, beside a program's own pack, MPI_Alltoallv and
// unpack of each. Interleaved. mpirun -n 4 bench_columns [--items 100000] [--memory 1%] [--seconds 5] [--json]
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "base/sizes.hpp"
#include "harness/interleaved.hpp"
#include "harness/resident.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/element_types.hpp"
#include "taquin/migrate_arrays.hpp"

namespace taquin::harness {

namespace {

struct settings {
  std::size_t items = 100000;
  double percent = 1;  // of the data, beside 4 bytes for each item
  double seconds = 5;
  bool json = false;
};

// Position, velocity, number and kind of particles.
struct particles {
  std::vector<double> x, y, z, u, v, w;
  std::vector<std::int64_t> id;
  std::vector<std::int32_t> kind;

  template <class Visit>
  void each(Visit visit) {
    std::apply([&](auto*... column) { (visit(*column), ...); }, std::tuple(&x, &y, &z, &u, &v, &w, &id, &kind));
  }
  static constexpr std::size_t bytes = 6 * sizeof(double) + sizeof(std::int64_t) + sizeof(std::int32_t);
};

class race {
 public:
  race(const settings& s, int rank, int ranks) : s_(s), rank_(rank), ranks_(ranks), to_(s.items) {
    std::mt19937 random(static_cast<unsigned>(rank) + 1);
    for (int& r : to_) r = static_cast<int>(random() % static_cast<unsigned>(ranks));
    all_.each([&](auto& column) { column.reserve(s.items * 5 / 4 + 1024); });
  }

  int run() {
    std::vector<double> ours, theirs, ratios;
    interleave(s_.seconds, 8, [&] {
      ours.push_back(timed(extra_, [&] { migrate_all(); }));
      theirs.push_back(timed(copies_extra_, [&] { by_copies(); }));
      ratios.push_back(ours.back() / theirs.back());
    });
    if (rank_ == 0) report(median(ours), median(theirs), summarise(ratios));
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  template <class Step>
  double timed(std::size_t& extra, Step step) {
    fill();
    const resident_memory memory;
    const double time = slowest(step);
    std::size_t more = memory.most_more();
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD));
    extra = std::max(extra, more);
    check();
    return time;
  }

  void fill() {
    all_.each([&](auto& column) { column.resize(s_.items); });
    for (std::size_t k = 0; k < s_.items; ++k) {
      all_.id[k] = static_cast<std::int64_t>(k) * ranks_ + rank_;
      all_.kind[k] = to_[k];
      for (auto* column : {&all_.x, &all_.y, &all_.z, &all_.u, &all_.v, &all_.w})
        (*column)[k] = static_cast<double>(all_.id[k]);
    }
  }

  void migrate_all() {
    const double share = static_cast<double>(s_.items * particles::bytes) * s_.percent / 100;
    const std::size_t memory =
        4 * s_.items + std::max<std::size_t>(static_cast<std::size_t>(share), 65536) + 64 * detail::as_size(ranks_);
    migrate(to_, MPI_COMM_WORLD, {.memory = memory, .once = true}, all_.x, all_.y, all_.z, all_.u, all_.v, all_.w,
            all_.id, all_.kind);
  }

  void by_copies() {
    const std::size_t p = detail::as_size(ranks_);
    std::vector<int> counts(p), at(p), in(p), in_at(p);
    for (const int r : to_) ++counts[detail::as_size(r)];
    TAQUIN_MPI(MPI_Alltoall(counts.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD));
    std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
    std::exclusive_scan(in.begin(), in.end(), in_at.begin(), 0);
    const auto arriving = detail::as_size(in_at.back() + in.back());
    all_.each([&]<class T>(std::vector<T>& column) {
      std::vector<T> out(s_.items), arrived(arriving);
      auto next = at;
      for (std::size_t k = 0; k < s_.items; ++k) out[detail::as_size(next[detail::as_size(to_[k])]++)] = column[k];
      const MPI_Datatype type = detail::basic_type<T>();
      TAQUIN_MPI(MPI_Alltoallv(out.data(), counts.data(), at.data(), type, arrived.data(), in.data(), in_at.data(),
                               type, MPI_COMM_WORLD));
      column.assign(arrived.begin(), arrived.end());
    });
  }

  void check() {
    for (std::size_t k = 0; k < all_.id.size(); ++k) {
      const auto value = static_cast<double>(all_.id[k]);
      wrong_ += all_.kind[k] != rank_ || all_.x[k] != value || all_.w[k] != value;
    }
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &wrong_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  }

  void report(double ours, double theirs, const summary& ratio) const {
    const std::size_t data = s_.items * particles::bytes;
    const nlohmann::json record{{"ranks", ranks_},       {"items", s_.items},
                                {"data_bytes", data},    {"memory_percent", s_.percent},
                                {"median_s", ours},      {"copies_median_s", theirs},
                                {"ratio", ratio.median}, {"ratio_ci95", {ratio.ci95.low, ratio.ci95.high}},
                                {"extra_bytes", extra_}, {"copies_extra_bytes", copies_extra_},
                                {"wrong", wrong_}};
    if (s_.json) return fmt::print("{}\n", record.dump());
    const auto share = [&](std::size_t bytes) { return 100 * static_cast<double>(bytes) / static_cast<double>(data); };
    fmt::print(
        "{} ranks, {} items of {} bytes in 8 arrays, {}%: {:.2f} ms, by copies {:.2f} ms, ratio {:.2f}, {:.2f} to "
        "{:.2f}; resident beyond the arrays {:.1f}% of the data, by copies {:.1f}%\n",
        ranks_, s_.items, particles::bytes, s_.percent, ours * 1e3, theirs * 1e3, ratio.median, ratio.ci95.low,
        ratio.ci95.high, share(extra_), share(copies_extra_));
  }

  const settings& s_;
  int rank_;
  int ranks_;
  int wrong_ = 0;
  std::size_t extra_ = 0;
  std::size_t copies_extra_ = 0;
  std::vector<int> to_;
  particles all_;
};

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("migrations of eight arrays, beside copies to and from further arrays");
  taquin::harness::settings s;
  app.add_option("--items", s.items, "of each rank")->check(CLI::PositiveNumber);
  app.add_option("--memory", s.percent, "percent of the data, at least 64 KiB, beside the destinations");
  app.add_option("--seconds", s.seconds, "to measure");
  app.add_flag("--json", s.json, "a line of JSON");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::race(s, rank, ranks).run(); });
}
