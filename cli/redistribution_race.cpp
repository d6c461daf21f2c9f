#include "cli/redistribution_race.hpp"

#include <mpi.h>

#include <utility>

#include "cli/command.hpp"
#include "harness/output.hpp"
#include "harness/progress.hpp"
#include "mpi/check.hpp"

namespace taquin::cli {

using namespace harness;

double timed(const std::function<void()>& call) {
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  const double start = MPI_Wtime();
  call();
  double seconds = MPI_Wtime() - start;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return seconds;
}

int race_redistributions(setting s, std::vector<contender>& contenders, int repetitions, const std::string& json,
                         const std::function<double(contender&)>& repetition,
                         const std::function<void(nlohmann::json&, const contender&)>& more) {
  int rank = 0;
  TAQUIN_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  output out(json, rank);
  progress display(rank == 0);
  s.how = race(contenders, 1, {.repetitions = repetitions}, repetition,
               [&](double part) { display.show(s.workload, part); });
  display.clear();
  int status = 0;
  std::vector<nlohmann::json> records;
  for (contender& one : contenders) {
    one.calls.clear();
    if (!one.fault) reduce(one, one.raw ? 1 : static_cast<std::uint64_t>(s.how.repetitions));
    if (one.fault || one.wrong != 0) status = failure_status;
    records.push_back(record(s, one));
    more(records.back(), one);
  }
  if (out.text() != nullptr) print_table(out.text(), records);
  out.add(std::move(records));
  out.finish();
  return status;
}

}  // namespace taquin::cli
