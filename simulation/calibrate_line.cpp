#include "simulation/calibrate_line.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "node/channel.hpp"

namespace taquin::detail {

namespace {

constexpr int lines = 64;
constexpr int steps = 50;
constexpr int batches = 21;

/// Steps of two ranks in which each writes `n` lines, which the other one reads after it has seen the start of the
/// step. Seconds of a step, the median of several batches.
seconds time_steps(channel& c, std::size_t n) {
  using word = std::atomic<std::uint64_t>;
  const int other = 1 - c.rank();
  const auto line = [&](int rank, std::size_t i) -> word& {
    return *reinterpret_cast<word*>(c.payload(rank) + i * cache_line);
  };
  std::vector<seconds> times;
  for (int batch = 0; batch < batches; ++batch) {
    const double begin = PMPI_Wtime();
    for (int step = 0; step < steps; ++step) {
      c.begin();
      for (std::size_t i = 0; i < n; ++i) line(c.rank(), i).store(c.step(), std::memory_order_relaxed);
      c.publish(other);
      c.wait_for_mailboxes();
      for (std::size_t i = 0; i < n; ++i) static_cast<void>(line(other, i).load(std::memory_order_relaxed));
    }
    times.push_back((PMPI_Wtime() - begin) / steps);
  }
  std::ranges::nth_element(times, times.begin() + batches / 2);
  return times[batches / 2];
}

/// Both ranks of `pair`; negative where they share no memory.
seconds line_between(MPI_Comm pair) {
  channel c = channel::make(pair, lines * cache_line, true);
  if (c.empty()) return -1;
  time_steps(c, lines);  // warms up
  return std::max(0.0, time_steps(c, lines) - time_steps(c, 0)) / lines;
}

struct comm_freer {
  void operator()(const MPI_Comm* comm) const { PMPI_Comm_free(const_cast<MPI_Comm*>(comm)); }
};

/// Collective; valid on rank 0.
seconds line_to(MPI_Comm comm, int rank, int other) {
  const bool here = rank == 0 || rank == other;
  MPI_Comm pair = MPI_COMM_NULL;
  TAQUIN_MPI(PMPI_Comm_split(comm, here ? 0 : MPI_UNDEFINED, rank, &pair));
  seconds time = -1;
  if (here) {
    const std::unique_ptr<MPI_Comm, comm_freer> owner(&pair);
    time = line_between(pair);
  }
  sleep_until_all_are_here(comm);
  return time;
}

}  // namespace

seconds measure_line(MPI_Comm comm, std::span<const int> first_of_machine, seconds otherwise) {
  int rank = 0;
  TAQUIN_MPI(PMPI_Comm_rank(comm, &rank));
  std::vector<int> others;
  for (std::size_t r = 1; r < first_of_machine.size(); ++r)
    if (first_of_machine[r] == first_of_machine[0]) others.push_back(static_cast<int>(r));
  seconds line = otherwise;
  if (!others.empty()) {
    const seconds near = line_to(comm, rank, others.front());
    const seconds far = others.size() > 1 ? line_to(comm, rank, others.back()) : near;
    if (near >= 0 && far >= 0) line = (near + far) / 2;
  }
  TAQUIN_MPI(PMPI_Bcast(&line, 1, MPI_DOUBLE, 0, comm));
  return line;
}

}  // namespace taquin::detail
