#include "cli/run_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/sparse/algorithm.hpp"
#include "cli/command.hpp"
#include "harness/names.hpp"
#include "harness/output.hpp"
#include "harness/progress.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "harness/sparse_measure.hpp"
#include "mpi/check.hpp"

namespace taquin::cli {

namespace {

// The hand-written ones first; then the named algorithms, or all.
std::vector<std::string> names_of(const sparse_run& a) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  std::string known;
  for (const auto& method : sparse_methods()) {
    add(method.name);
    known += fmt::format(", {}", method.name);
  }
  for (const std::string& name : a.algorithms) {
    if (name == "all") {
      for (const auto* one : detail::sparse_algorithms()) add(one->name);
    } else if (find_sparse_method(name) == nullptr && detail::find_sparse(name) == nullptr) {
      throw usage(
          fmt::format("unknown sparse algorithm '{}'; known are all, auto, {}{}", name, detail::sparse_names(), known));
    } else {
      add(name);
    }
  }
  return names;
}

std::vector<contender> line_up(const sparse_run& a, std::size_t limit) {
  std::vector<contender> contenders;
  for (const std::string& name : names_of(a)) {
    contender c;
    c.requested = name;
    c.raw = find_sparse_method(name) != nullptr;
    c.opts = a.opts.view();
    c.opts.memory = limit;
    contenders.push_back(std::move(c));
  }
  return contenders;
}

count_t most_sent(const sparse_problem& x) {
  auto bytes = static_cast<count_t>(x.sent.data.size());
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  return bytes;
}

}  // namespace

int run_sparse(const sparse_run& a) {
  const auto workload = parse_workload(a.workload);
  const auto bytes = parse_sizes(a.bytes);
  const auto memory = memory_choice::parse(a.memory);
  static_cast<void>(names_of(a));
  return in_session([&](int rank, int ranks) {
    output out(a.json, rank);
    progress display(rank == 0);
    int status = 0;
    for (const count_t size : bytes) {
      const sparse_problem x(workload, size, a.per_pair, a.seed);
      setting s{.workload = a.workload, .collective = "sparse", .ranks = ranks, .seed = a.seed};
      s.bytes_per_rank = most_sent(x);
      s.memory_limit = memory.limit(s.bytes_per_rank);
      auto contenders = line_up(a, s.memory_limit);
      s.how = measure(x, contenders, {a.repetitions, a.batch, false},
                      [&](double part) { display.show(fmt::format("{} {}", a.workload, show_size(size)), part); });
      display.clear();
      std::vector<nlohmann::json> records;
      for (const contender& c : contenders) {
        const bool is_requested = std::ranges::find(a.algorithms, c.requested) != a.algorithms.end();
        if (c.wrong != 0 || (c.fault && is_requested)) status = failure_status;
        records.push_back(record(s, c));
      }
      if (out.text() != nullptr) print_table(out.text(), records);
      out.add(std::move(records));
    }
    out.finish();
    return status;
  });
}

}  // namespace taquin::cli
