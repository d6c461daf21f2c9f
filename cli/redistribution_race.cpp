#include "cli/redistribution_race.hpp"

#include <mpi.h>

#include <algorithm>
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
  const auto records_of = [&](std::vector<contender>& some) {
    std::vector<nlohmann::json> records;
    for (contender& one : some) {
      if (!one.fault) reduce(one, one.raw ? 1 : one.seconds.size());
      records.push_back(record(s, one));
      more(records.back(), one);
    }
    return records;
  };
  measure_settings settings{.repetitions = repetitions};
  if (out.to_file())
    settings.so_far = [&](const measured& how, std::vector<contender> some) {
      s.how = how;
      out.add_partial(records_of(some));
    };
  s.how = race(contenders, 1, settings, repetition, [&](double part) { display.show(s.workload, part); });
  display.clear();
  for (contender& one : contenders) one.calls.clear();
  auto records = records_of(contenders);
  const bool good = std::ranges::all_of(contenders, [](const contender& one) { return !one.fault && one.wrong == 0; });
  if (out.text() != nullptr) print_table(out.text(), records);
  out.add(std::move(records));
  out.finish();
  return good ? 0 : failure_status;
}

}  // namespace taquin::cli
