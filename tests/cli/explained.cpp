// The algorithm that `taquin explain` names, and the one that auto takes: 300 random exchanges, each on a communicator
// of its own. Small ones on a node are done by the step of a blocking call, whatever the profile, unless that names
// another algorithm. Of those that differ the three with the least bytes are printed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli/explanation.hpp"
#include "harness/problem.hpp"
#include "mpi/communicator.hpp"
#include "select/choose.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/plan.hpp"

namespace {

using namespace taquin;

constexpr int problems = 300;

struct one_problem {
  std::string workload;
  cli::question requested;
  std::string memory;

  [[nodiscard]] std::string words() const {
    return fmt::format("{} ranks, -w {} -b {} --seed {} -m {}{}{}, form {}", requested.size.ranks, workload,
                       requested.size.bytes, requested.size.seed, memory,
                       requested.how == harness::buffering::separate ? "" : " --in-place",
                       requested.persistent ? " --persistent" : "", static_cast<int>(requested.kind));
  }
};

template <class List>
const auto& any_of(const List& list, std::mt19937& random) {
  return list[random() % list.size()];
}

workloads::workload random_workload(exchange::form kind, std::mt19937& random) {
  const std::array<const char*, 9> all{"uniform", "zipf:1.2", "sparse:1", "ring",      "hot:1",
                                       "random",  "self",     "empty",    "all_to_one"};
  return workloads::workload::parse(kind == exchange::form::alltoall ? "uniform" : any_of(all, random));
}

// Sizes from nothing to some MiB, most of them small; limits around what algorithms need.
one_problem random_problem(int ranks, std::mt19937& random, std::optional<workloads::workload>& keep) {
  using form = exchange::form;
  const form kind = any_of(std::array{form::alltoall, form::alltoallv, form::alltoallv, form::alltoallw}, random);
  keep = random_workload(kind, random);
  const count_t bytes = (count_t{1} << random() % 21) + static_cast<count_t>(random() % 7) - 1;
  const bool in_place = kind == form::alltoallv && random() % 4 == 0;
  const bool persistent = random() % 4 == 0;
  const std::array<const char*, 6> limits{"unlimited", "unlimited", "unlimited", "64K", "8K", "50%"};
  return {keep->name(),
          {*keep,
           {ranks, bytes * ranks, random()},
           kind,
           in_place ? harness::buffering::one_buffer : harness::buffering::separate,
           persistent},
          any_of(limits, random)};
}

// The algorithm of the first call and of the next one; empty: refused for lack of memory.
struct observed {
  std::array<std::string, 2> names;
  std::size_t peak_memory = 0;  // of the next one
};
observed taken(const one_problem& p, std::size_t limit, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const auto& [workload, size, kind, how, persistent] = p.requested;
  const harness::problem x(comm, kind, how, workload.row(size, rank), workload.column(size, rank));
  harness::arena memory;
  x.reserve(memory);
  x.fill(memory);
  observed all;
  for (std::string& name : all.names) {
    statistics stats;
    options o;
    o.memory = limit;
    o.stats = &stats;
    try {
      if (persistent)
        plan(x.make(memory), o).run();
      else
        run(x.make(memory), o);
      name = stats.algorithm;
      all.peak_memory = stats.peak_memory;
    } catch (const budget_exceeded&) {
      name.clear();
    }
  }
  return all;
}

TEST(explanations, name_what_auto_takes_for_300_random_exchanges) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto on = cli::placement::of_world();
  const detail::profile profile =
      detail::chooser::get_or_create(mpi::communicator::get_or_create(MPI_COMM_WORLD)).known();
  std::mt19937 random(static_cast<std::uint32_t>(ranks));
  std::vector<std::pair<count_t, std::string>> wrong;
  std::optional<workloads::workload> keep;
  std::vector<std::string> all_taken;
  int steps = 0;
  for (int i = 0; i < problems; ++i) {
    const one_problem p = random_problem(ranks, random, keep);
    const cli::explanation e = cli::explain(p.requested, p.memory, on, profile);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const auto [names, peak] = taken(p, e.limit, comm);
    MPI_Comm_free(&comm);
    all_taken.push_back(names[1]);
    // The step of a blocking call leaves small blocks no memory to take; a plan makes its operation.
    constexpr std::uint64_t small = 1024;
    const bool step = e.taken.why == detail::decision::reason::step && on.shared && e.shape.max_rank_bytes <= small;
    if (step && peak >= detail::shared_memory.memory(e.shape, {}))
      wrong.emplace_back(p.requested.size.bytes, p.words() + ": a plan does what the step could do");
    steps += step ? 1 : 0;
    const std::string said(e.chosen() != nullptr ? e.chosen()->name : "");
    const bool right = names[1] == said || (e.taken.rival != nullptr && names[1] == e.taken.rival->name);
    // A profile is read by the first call, which is a plan's. One that is refused changes nothing.
    if (right && (profile.given || names[0] == said)) continue;
    wrong.emplace_back(p.requested.size.bytes, fmt::format("{}: explain says '{}', calls take '{}' and '{}'", p.words(),
                                                           said, names[0], names[1]));
  }
  std::ranges::sort(wrong);
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " of " << problems;
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 3); ++i) ADD_FAILURE() << wrong[i].second;
  std::ranges::sort(all_taken);
  const auto others = std::ranges::unique(all_taken);
  all_taken.erase(others.begin(), others.end());
  EXPECT_EQ(steps > 0, on.shared && ranks > 1);
  EXPECT_GT(all_taken.size(), ranks == 1 ? 1U : 2U) << "problems that hardly differ show little";
}

}  // namespace
