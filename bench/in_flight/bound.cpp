// The cost of the bound on messages in flight: the same exchange with the usual bound, with the same bound given as an
// option, and without a bound, interleaved. Without a bound twice, which shows how much of a ratio is noise.
//   mpirun -n 8 bench_in_flight_bound
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/in_flight.hpp"
#include "base/sizes.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/taquin.hpp"

namespace taquin::harness {
namespace {

struct settings {
  std::vector<std::string> kinds{"blocking", "plan", "in_place", "blocks"};
  std::vector<int> sizes{64, 1024, 16384, 131072};
  std::string algorithm = "auto";
  int repetitions = 20;
  double seconds = 1.5;  // of a row
};

constexpr int unlimited_flight = 1 << 20;
constexpr std::array bounds{0, detail::in_flight_bound(0), unlimited_flight, unlimited_flight};
constexpr std::size_t baseline = 2;  // of the ratios

/// One exchange between all ranks, which is repeated.
struct subject {
  std::function<void()> run;
  std::function<std::string()> algorithm;
};

// Of the same sizes from r to s as from s to r.
class traffic {
 public:
  traffic(int bytes, int rank, int ranks) : counts_(detail::as_size(ranks)), displs_(counts_.size()) {
    for (int k = 0; k < ranks; ++k) counts_[detail::as_size(k)] = std::max(bytes * (3 + (k + rank) % 3) / 4, 1);
    std::exclusive_scan(counts_.begin(), counts_.end(), displs_.begin(), count_t{0});
    const auto all = detail::as_size(displs_.back() + counts_.back());
    send_.assign(all, std::byte{1});
    recv_.assign(all, std::byte{0});
  }
  exchange separate() {
    return exchange::alltoallv(send_.data(), count_view(counts_.data()), count_view(displs_.data()), MPI_BYTE,
                               recv_.data(), count_view(counts_.data()), count_view(displs_.data()), MPI_BYTE,
                               MPI_COMM_WORLD);
  }
  exchange in_place() {
    return exchange::alltoallv_in_place(recv_.data(), count_view(counts_.data()), count_view(displs_.data()),
                                        count_view(counts_.data()), count_view(displs_.data()), MPI_BYTE,
                                        MPI_COMM_WORLD);
  }

 private:
  std::vector<count_t> counts_, displs_;
  std::vector<std::byte> send_, recv_;
};

// Each rank has eight blocks for each rank, which come back to it in the next start.
constexpr int blocks_each = 8;

class block_traffic {
 public:
  block_traffic(std::span<std::byte> data, int bytes, int rank, int ranks, int bound)
      : moving_(data.data(), count_t{blocks_each} * ranks, bytes, MPI_BYTE, MPI_COMM_WORLD, {.in_flight = bound}) {
    for (int to = 0; to < ranks; ++to)
      for (int k = 0; k < blocks_each; ++k) {
        ranks_.push_back(to);
        places_.push_back(rank * blocks_each + k);
      }
  }
  void run() { moving_(std::span<const int>(ranks_), std::span<const int>(places_)); }
  [[nodiscard]] std::string algorithm() const { return std::string(moving_.algorithm()); }

 private:
  std::vector<int> ranks_, places_;
  redistribution moving_;
};

/// The buffers that all subjects of a row share: their location must not decide.
struct row {
  std::string kind;
  int bytes = 0;
  int rank = 0;
  int ranks = 1;
  traffic data;
  std::vector<std::byte> blocks;
};

subject make(row& r, const settings& s, int bound) {
  if (r.kind == "blocks") {
    const auto moving = std::make_shared<block_traffic>(r.blocks, r.bytes, r.rank, r.ranks, bound);
    return {[=] { moving->run(); }, [=] { return moving->algorithm(); }};
  }
  const auto stats = std::make_shared<statistics>();
  options o{.algorithm = s.algorithm, .in_flight = bound};
  o.stats = stats.get();
  const auto used = [=] { return std::string(stats->algorithm); };
  if (r.kind == "plan") {
    o.progress = progress_by::calls;  // the bound is for these: the rest of others would never be posted
    const auto made = std::make_shared<plan>(r.data.separate(), o);
    return {[=] { made->run(); }, used};
  }
  const exchange x = r.kind == "in_place" ? r.data.in_place() : r.data.separate();
  return {[=] { run(x, o); }, used};
}

// Of one call, the slowest rank's, of so many consecutive ones.
double seconds_of(const subject& one, int calls) {
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  const double begin = MPI_Wtime();
  for (int k = 0; k < calls; ++k) one.run();
  double seconds = (MPI_Wtime() - begin) / calls;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return seconds;
}

void print_ratio(const std::vector<double>& times, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / others[i]);
  const summary of = summarise(ratios);
  fmt::print("  {:.3f} [{:.3f}, {:.3f}]", of.median, of.ci95.low, of.ci95.high);
}

// Subjects that are made again in each of these, in another order: their memory lies elsewhere.
constexpr std::size_t rounds = 2 * bounds.size();

void measure(const settings& s, const std::string& kind, int bytes, int rank, int ranks) {
  const std::size_t room = kind == "blocks" ? detail::as_size(bytes) * blocks_each * detail::as_size(ranks) : 0;
  row r{kind, bytes, rank, ranks, traffic(bytes, rank, ranks), std::vector<std::byte>(room, std::byte{1})};
  std::array<std::vector<double>, bounds.size()> times;
  std::string names;
  int calls = 1;
  int repetitions = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::array<subject, bounds.size()> subjects;
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      const std::size_t now = (k + round) % bounds.size();
      subjects[now] = make(r, s, bounds[now]);
    }
    constexpr int first_calls = 12;  // in which "auto" decides
    for (const subject& one : subjects) seconds_of(one, first_calls);
    if (round == 0) {
      constexpr double repetition = 5e-3;  // seconds
      const double call = seconds_of(subjects[baseline], 3);
      calls = std::clamp(static_cast<int>(repetition / call), 1, 1000);
      const double all = call * calls * static_cast<double>(rounds * bounds.size());
      repetitions = std::clamp(static_cast<int>(s.seconds / all), 4, s.repetitions);
      for (const subject& one : subjects)
        if (!names.ends_with(one.algorithm())) names += (names.empty() ? "" : ", ") + one.algorithm();
    }
    for (int i = 0; i < repetitions; ++i)
      for (std::size_t k = 0; k < bounds.size(); ++k) {  // another one is the first each time
        const std::size_t now = (k + detail::as_size(i)) % bounds.size();
        times[now].push_back(seconds_of(subjects[now], calls));
      }
  }
  if (rank != 0) return;
  constexpr double us = 1e6;
  fmt::print("{:>5} {:<8} {:>7} {:>10.1f} {:>10.1f}", ranks, kind, bytes, us * median(times[0]),
             us * median(times[baseline]));
  for (std::size_t k = 0; k < bounds.size(); ++k)
    if (k != baseline) print_ratio(times[k], times[baseline]);
  fmt::print("  {}\n", names);
  std::fflush(stdout);
}

int work(const settings& s, int rank, int ranks) {
  if (rank == 0)
    fmt::print(
        "ranks kind       bytes   usual us    none us  usual/none              {}/none                 none/none"
        "               algorithm\n",
        bounds[1]);
  for (const std::string& kind : s.kinds)
    for (const int bytes : s.sizes) measure(s, kind, bytes, rank, ranks);
  return 0;
}

}  // namespace
}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("what the bound on messages in flight costs");
  taquin::harness::settings s;
  app.add_option("--kinds", s.kinds, "blocking, plan, in_place, blocks")
      ->delimiter(',')
      ->check(CLI::IsMember({"blocking", "plan", "in_place", "blocks"}));
  app.add_option("--sizes", s.sizes, "bytes to each rank; of blocks: of one of eight")->delimiter(',');
  app.add_option("--algorithm", s.algorithm, "of calls and plans");
  app.add_option("--repetitions", s.repetitions, "at most, in each of 8 rounds of a row")->check(CLI::Range(4, 10000));
  app.add_option("--seconds", s.seconds, "of each row");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(s, rank, ranks); });
}
