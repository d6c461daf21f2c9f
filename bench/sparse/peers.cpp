// bench_sparse_peers K BYTES [REPETITIONS [CALLS]]: a sparse exchange of BYTES to each of K random ranks by taquin and
// by other libraries (peers.hpp), in turn, every byte verified. Medians of the slowest rank's times, and of their
// ratios to the fastest other one's in the same repetition.
#include "peers.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "harness/names.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "harness/sparse_measure.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/sparse.hpp"

namespace taquin::bench {

namespace {

using harness::sparse_arrived;
using harness::sparse_problem;

// One contender.
struct runner {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds{};
};

// Messages that their receivers know of.
class mover {
 public:
  void move(const harness::sparse_sent& sent, const std::vector<int>& from, const std::vector<int>& bytes,
            sparse_arrived& arrived) {
    arrived.sources.assign(from.begin(), from.end());
    arrived.counts.assign(bytes.begin(), bytes.end());
    arrived.data.resize(static_cast<std::size_t>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})));
    requests_.clear();
    std::byte* at = arrived.data.data();
    for (std::size_t i = 0; i < from.size(); at += bytes[i++])
      TAQUIN_MPI(PMPI_Irecv(at, bytes[i], MPI_BYTE, from[i], tag, MPI_COMM_WORLD, &requests_.emplace_back()));
    const std::byte* out = sent.data.data();
    for (std::size_t i = 0; i < sent.destinations.size(); out += sent.counts[i++])
      TAQUIN_MPI(PMPI_Isend(out, static_cast<int>(sent.counts[i]), MPI_BYTE, sent.destinations[i], tag, MPI_COMM_WORLD,
                            &requests_.emplace_back()));
    TAQUIN_MPI(PMPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

 private:
  static constexpr int tag = 4715;
  std::vector<MPI_Request> requests_;
};

void by_taquin(const sparse_problem& x, sparse_arrived& arrived) {
  const sparse_blocks blocks{x.sent.data.data(), x.sent.destinations, count_view(x.sent.counts.data()), MPI_BYTE};
  static_cast<void>(
      detail::sparse_access::make(blocks, MPI_COMM_WORLD, {}, nullptr, [&](const sparse_call& call) -> void* {
        arrived.sources.assign(call.sources().begin(), call.sources().end());
        arrived.counts.assign(call.counts().begin(), call.counts().end());
        arrived.data.resize(detail::as_size(call.total()));
        return arrived.data.data();
      }));
}

double slowest(double mine) {
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return mine;
}

void print(const std::vector<runner>& all) {
  const auto time = [](const runner& r) { return harness::median(r.seconds); };
  const auto& best = *std::min_element(all.begin() + 1, all.end(),
                                       [&](const runner& a, const runner& b) { return time(a) < time(b); });
  for (const runner& r : all) {
    std::vector<double> ratios(r.seconds.size());
    std::ranges::transform(r.seconds, best.seconds, ratios.begin(), std::divides<>());
    fmt::print("{:18} {:10.2f} us {:6.2f}\n", r.name, 1e6 * time(r), harness::median(ratios));
  }
}

// A peer's state that lasts from one exchange to the next.
struct by_peer {
  std::unique_ptr<finder> way;
  std::vector<int> numbers{}, from{}, bytes{};
  mover data{};

  void run(const sparse_problem& x, sparse_arrived& arrived) {
    numbers.assign(x.sent.counts.begin(), x.sent.counts.end());
    way->find(x.sent.destinations, numbers, from, bytes);
    data.move(x.sent, from, bytes, arrived);
  }
};

int measure(const std::vector<peer>& peers, int rank, char** argv, int argc) {
  const sparse_problem x(harness::parse_workload(fmt::format("sparse:{}", argv[1])), harness::parse_size(argv[2]), true,
                         1);
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 30;
  const int calls = argc > 4 ? std::atoi(argv[4]) : 50;
  sparse_arrived arrived;
  std::vector<runner> all{{"taquin", [&] { by_taquin(x, arrived); }}};
  std::vector<by_peer> states;
  states.reserve(peers.size());
  for (const peer& p : peers) {
    by_peer& s = states.emplace_back(by_peer{.way = p.make(MPI_COMM_WORLD)});
    all.push_back({std::string(p.name), [&] { s.run(x, arrived); }});
  }
  count_t wrong = 0;
  for (int k = -1; k < repetitions; ++k) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      runner& r = all[(i + detail::as_size(k + 1)) % all.size()];
      std::ranges::fill(arrived.data, std::byte{0});
      TAQUIN_MPI(PMPI_Barrier(MPI_COMM_WORLD));
      const double started_at = MPI_Wtime();
      for (int n = 0; n < calls; ++n) r.run();
      const double seconds = slowest((MPI_Wtime() - started_at) / calls);
      wrong += x.wrong_bytes(arrived);
      if (k >= 0) r.seconds.push_back(seconds);
    }
  }
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  if (rank == 0) {
    print(all);
    if (wrong != 0) fmt::print("{} bytes are wrong\n", wrong);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

}  // namespace taquin::bench

int main(int argc, char** argv) {
  using namespace taquin;
  if (argc < 3) {
    std::fputs("usage: bench_sparse_peers K BYTES [REPETITIONS [CALLS]]\n", stderr);
    return 2;
  }
  return harness::in_session([&](int rank, int) {
    std::vector<bench::peer> peers;
#ifdef TAQUIN_HAVE_SC
    for (const auto& p : bench::begin_sc()) peers.push_back(p);
#endif
#ifdef TAQUIN_HAVE_PETSC
    for (const auto& p : bench::begin_petsc()) peers.push_back(p);
#endif
    const int status = bench::measure(peers, rank, argv, argc);
#ifdef TAQUIN_HAVE_PETSC
    bench::end_petsc();
#endif
    return status;
  });
}
