// One exchange of one prepared plan, or a communicator's first blocking call and a later one, timed and verified, for
// bench/scale: in a simulation time is exact, so that nothing has to be repeated, and each message costs the simulator
// more the more there were before it. Blocking calls that measure have done so before the later one. Algorithms in
// place have one buffer.
//   one_exchange plan|blocking ALGORITHM COLLECTIVE WORKLOAD BYTES-PER-PAIR [RADIX [LEVELS]], a radix of 0 is as chosen
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/names.hpp"
#include "harness/output.hpp"
#include "harness/problem.hpp"
#include "harness/session.hpp"
#include "mpi/check.hpp"
#include "plan/propose.hpp"
#include "select/algorithm_trial.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

namespace {

// Simulated ranks share one address space: each makes its own row, and reads the column from the others'.
std::vector<count_t> column_of(const std::vector<count_t>& row, int rank, int ranks) {
  auto mine = reinterpret_cast<std::uintptr_t>(row.data());
  std::vector<std::uintptr_t> rows(static_cast<std::size_t>(ranks));
  TAQUIN_MPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, rows.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
  std::vector<count_t> column;
  for (const std::uintptr_t other : rows) column.push_back(reinterpret_cast<const count_t*>(other)[rank]);
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));  // rows may go now
  return column;
}

int work(const std::vector<std::string>& words, int rank, int ranks) {
  const bool blocking = words.at(1) == "blocking";
  const std::string& algorithm = words.at(2);
  const auto workload = parse_workload(words.at(4));
  const count_t per_pair = std::stoll(words.at(5));
  const auto row = workload.row({.ranks = ranks, .bytes = per_pair * ranks}, rank);
  const problem p(MPI_COMM_WORLD, parse_collective(words.at(3)),
                  algorithm.starts_with("in_place") ? buffering::one_buffer : buffering::separate, row,
                  column_of(row, rank, ranks));
  arena memory;
  p.reserve(memory);
  p.fill(memory);
  options o{.algorithm = algorithm};
  if (words.size() > 6 && words[6] != "0") o.bruck.radix = std::stoi(words[6]);
  if (words.size() > 7) o.multilevel.levels = words[7];
  statistics s;
  o.stats = &s;
  const auto exchange = algorithm == "native" ? p.native(memory)
                        : blocking            ? p.blocking(memory, o)
                                              : p.persistent(memory, o);
  const auto timed = [&] {
    TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
    double seconds = MPI_Wtime();
    exchange();
    seconds = MPI_Wtime() - seconds;
    TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return seconds;
  };
  const double first = timed();
  double seconds = first;
  const int more = !blocking || algorithm == "native" ? 0
                   : algorithm == detail::automatic   ? 2 * detail::algorithm_trial::calls_each + 1
                                                      : 1;
  for (int i = 0; i < more; ++i) seconds = timed();
  count_t wrong = p.wrong_bytes(memory);
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  output out("-", rank);
  out.add({{{"algorithm", algorithm},
            {"used", s.algorithm},
            {"collective", words[3]},
            {"workload", words[4]},
            {"ranks", ranks},
            {"bytes_per_pair", per_pair},
            {"seconds", seconds},
            {"first_seconds", first},
            {"peak_memory", s.peak_memory},
            {"wrong_bytes", wrong}}});
  out.finish();
  return wrong == 0 ? 0 : 1;
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(words, rank, ranks); });
}
