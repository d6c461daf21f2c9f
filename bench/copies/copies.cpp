// The cost of a copy whose target is little after its source within a page: MPI_Alltoall by the MPI library and by
// taquin, interleaved, from buffers that begin at a page into ones that begin some bytes after one.
//   mpirun -n 2 bench_copies
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "base/sizes.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/alltoall.hpp"

namespace taquin::harness {
namespace {

struct settings {
  std::vector<int> sizes{4096, 8192, 16384, 65536};
  std::vector<std::size_t> distances{0, 16, 64};
  int repetitions = 200;
};

constexpr std::size_t page_bytes = 4096;
constexpr int calls = 10;  // in a repetition

struct at_a_page {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{page_bytes}); }
};
using pages = std::unique_ptr<std::byte[], at_a_page>;

pages make_pages(std::size_t bytes) {
  pages p(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{page_bytes})));
  std::fill_n(p.get(), bytes, std::byte{1});
  return p;
}

void measure(const settings& s, int bytes, std::size_t distance, int rank, int ranks) {
  const std::size_t all = detail::as_size(bytes) * detail::as_size(ranks);
  const pages from = make_pages(all);
  const pages memory = make_pages(all + page_bytes);
  std::byte* const to = memory.get() + distance;
  const auto native = [&] {
    TAQUIN_MPI(MPI_Alltoall(from.get(), bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD));
  };
  const auto ours = [&] { alltoall(from.get(), bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD); };
  const auto time = [](const auto& call) {
    const double begin = MPI_Wtime();
    for (int k = 0; k < calls; ++k) call();
    return (MPI_Wtime() - begin) / calls;
  };
  std::array<std::vector<double>, 2> seconds;
  time(native), time(ours);
  for (int i = 0; i < s.repetitions; ++i) {
    seconds[0].push_back(time(native));
    seconds[1].push_back(time(ours));
  }
  constexpr double us = 1e6;
  if (rank == 0)
    fmt::print("{:>5} {:>8} {:>8} {:>10.1f} {:>10.1f}\n", ranks, bytes, distance, us * median(seconds[0]),
               us * median(seconds[1]));
}

int work(const settings& s, int rank, int ranks) {
  if (rank == 0) fmt::print("ranks    bytes distance  native us  taquin us\n");
  for (const int bytes : s.sizes)
    for (const std::size_t distance : s.distances) measure(s, bytes, distance, rank, ranks);
  return 0;
}

}  // namespace
}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("copies whose target is little after their source within a page");
  taquin::harness::settings s;
  app.add_option("--sizes", s.sizes, "bytes of a block")->delimiter(',');
  app.add_option("--distances", s.distances, "bytes from a page's begin to the target")
      ->delimiter(',')
      ->check(CLI::Range(0, 4095));
  app.add_option("--repetitions", s.repetitions, "of each size and distance")->check(CLI::Range(1, 100000));
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(s, rank, ranks); });
}
