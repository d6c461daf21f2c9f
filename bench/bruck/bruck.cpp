// The experiments of Träff, Rougier, Hunold (Zero-copy All-to-all), §4, on this machine.
//
//   mpirun -n P bench_bruck variants | persistent [REPETITIONS]   times of exchanges
//   bench_bruck creation | packing [REPETITIONS]                  no communication; one process
//
// One line per point on standard output: experiment, variant, ranks, bytes, and in microseconds the median with its 95%
// confidence interval after Tukey's filter. A time is that of the slowest rank after a barrier; variants are
// interleaved.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "harness/statistics.hpp"
#include "schedule/executor.hpp"
#include "taquin/datatypes.hpp"
#include "taquin/taquin.hpp"

namespace {

using namespace taquin;

struct variant {
  const char* name;
  const char* algorithm;
  bruck_layout layout;
};
// The paper's six, and taquin's.
constexpr variant variants[] = {
    {"basic-ix", "basic_bruck", bruck_layout::indexed},       {"basic", "basic_bruck", bruck_layout::regular},
    {"mod-ix", "modified_bruck", bruck_layout::indexed},      {"mod", "modified_bruck", bruck_layout::regular},
    {"zero", "zero_copy_bruck", bruck_layout::elements},      {"zero-blocks", "zero_copy_bruck", bruck_layout::blocks},
    {"zero-packed", "zero_copy_bruck", bruck_layout::packed}, {"lean", "lean_bruck", bruck_layout::regular}};

void print(const char* experiment, const std::string& name, int ranks, long bytes, const std::vector<double>& times) {
  const auto s = harness::summarise(times);
  fmt::print("{} {} {} {} {:.3f} {:.3f} {:.3f}\n", experiment, name, ranks, bytes, s.median * 1e6, s.ci95.low * 1e6,
             s.ci95.high * 1e6);
  std::fflush(stdout);
}

struct candidate {
  std::string name;
  std::function<void()> work;
  std::vector<double> times{};
};

// All candidates in turn, `repetitions` times.
void measure(const char* experiment, std::vector<candidate>& all, long bytes, int repetitions) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Large blocks take long enough for their times to differ little.
  const int least = std::min(repetitions, 10);
  const int times = bytes > 2048 ? std::max(least, repetitions / 4) : repetitions;
  for (int k = 0; k < times; ++k)
    for (candidate& c : all) {
      MPI_Barrier(MPI_COMM_WORLD);
      double t = -MPI_Wtime();
      c.work();
      t += MPI_Wtime();
      double slowest = 0;
      MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      c.times.push_back(slowest);
    }
  if (rank == 0)
    for (const candidate& c : all) print(experiment, c.name, ranks, bytes, c.times);
}

// The paper's ints: blocks of 4 bytes to 40 kB, radix 2.
void exchanges(bool persistent, int repetitions) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto p = static_cast<std::size_t>(ranks);
  for (const int ints : {1, 4, 16, 64, 256, 1024, 4096, 10000}) {
    std::vector<int> send(p * static_cast<std::size_t>(ints), 7);
    std::vector<int> recv(send.size());
    const std::vector<int> counts(p, ints);
    std::vector<int> displs(p);
    for (std::size_t i = 0; i < p; ++i) displs[i] = static_cast<int>(i) * ints;
    const auto regular = exchange::alltoall(send.data(), ints, MPI_INT, recv.data(), ints, MPI_INT, MPI_COMM_WORLD);
    const auto irregular =
        exchange::alltoallv(send.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                            count_view(counts.data()), count_view(displs.data()), MPI_INT, MPI_COMM_WORLD);
    std::vector<candidate> all;
    std::vector<std::unique_ptr<plan>> plans;
    all.push_back(
        {"native", [&] { PMPI_Alltoall(send.data(), ints, MPI_INT, recv.data(), ints, MPI_INT, MPI_COMM_WORLD); }});
    const auto add_plan = [&](const char* name, const exchange& x, const options& o) {
      plans.push_back(std::make_unique<plan>(x, o));
      all.push_back({name, [p = plans.back().get()] { p->run(); }});
    };
    if (persistent) {
      const options zero{.algorithm = "zero_copy_bruck", .bruck = {.radix = 2, .layout = bruck_layout::elements}};
      all.push_back({"nativev", [&] {
                       PMPI_Alltoallv(send.data(), counts.data(), displs.data(), MPI_INT, recv.data(), counts.data(),
                                      displs.data(), MPI_INT, MPI_COMM_WORLD);
                     }});
      all.push_back({"zero", [&, zero] { run(regular, zero); }});
      all.push_back({"bruck_v", [&] { run(irregular, {.algorithm = "bruck_v"}); }});
      add_plan("zero-persistent", regular, zero);
      add_plan("zero-packed-persistent", regular,
               {.algorithm = "zero_copy_bruck", .bruck = {.layout = bruck_layout::packed}});
      add_plan("bruck_v-persistent", irregular, {.algorithm = "bruck_v"});
    } else {
      for (const variant& v : variants)
        all.push_back(
            {v.name, [&, v] { run(regular, {.algorithm = v.algorithm, .bruck = {.radix = 2, .layout = v.layout}}); }});
    }
    measure(persistent ? "persistent" : "variants", all, ints * 4L, repetitions);
  }
}

// Making and freeing the objects of a plan, as one rank of many does it, with nothing sent.
void creation(int repetitions) {
  for (const int ranks : {36, 80})
    for (const int ints : {1, 1000}) {
      std::vector<int> send(static_cast<std::size_t>(ranks * ints));
      std::vector<int> recv(send.size());
      const auto x = exchange::alltoall(send.data(), ints, MPI_INT, recv.data(), ints, MPI_INT, MPI_COMM_SELF);
      const auto bytes = static_cast<std::uint64_t>(ints) * sizeof(int);
      const detail::shape shape{.ranks = ranks, .uniform = true, .max_block_bytes = bytes};
      const detail::local_exchange local{.rank = ranks / 3, .ranks = ranks, .send = x.send, .recv = x.recv};
      for (const variant& v : variants) {
        const options o{.bruck = {.radix = 2, .layout = v.layout}};
        std::vector<double> times;
        for (int k = 0; k < repetitions; ++k) {
          double t = -MPI_Wtime();
          {
            auto s = detail::find_algorithm(v.algorithm)->build(local, shape, o, std::pmr::new_delete_resource());
            const detail::executor unused(std::move(s),
                                          {.comm = MPI_COMM_SELF, .send = send.data(), .recv = recv.data()},
                                          std::pmr::new_delete_resource());
          }
          times.push_back(t + MPI_Wtime());
        }
        print("creation", v.name, ranks, static_cast<long>(bytes), times);
      }
    }
}

// A bounded vector of 4096 ints by taquin's loops and by the MPI library's engine.
void packing(int repetitions) {
  constexpr count_t ints = 4096;
  for (const count_t block : {1, 2, 4, 8, 16, 64, 256}) {
    const bounded_vector v{2 * ints, block, 2 * block};
    const datatype type = make_datatype(v, MPI_INT);
    std::vector<int> from(2 * ints, 3);
    std::vector<int> to(ints);
    std::vector<double> mine;
    std::vector<double> theirs;
    for (int k = 0; k < repetitions; ++k) {
      double t = -MPI_Wtime();
      pack(v, from.data(), MPI_INT, to.data());
      mine.push_back(t + MPI_Wtime());
      t = -MPI_Wtime();
      int position = 0;
      MPI_Pack(from.data(), 1, type.get(), to.data(), static_cast<int>(to.size() * sizeof(int)), &position,
               MPI_COMM_SELF);
      theirs.push_back(t + MPI_Wtime());
    }
    print("packing", "taquin", 1, block * 4, mine);
    print("packing", "mpi", 1, block * 4, theirs);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string experiment = argc > 1 ? argv[1] : "";
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 40;
  int status = 0;
  if (experiment == "variants" || experiment == "persistent") {
    exchanges(experiment == "persistent", repetitions);
  } else if (experiment == "creation") {
    creation(repetitions);
  } else if (experiment == "packing") {
    packing(repetitions);
  } else {
    fmt::print(stderr, "usage: {} variants|persistent|creation|packing [REPETITIONS]\n", argv[0]);
    status = 2;
  }
  MPI_Finalize();
  return status;
}
