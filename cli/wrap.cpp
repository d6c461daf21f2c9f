// taquin wrap: run a program with taquin underneath.
#include <fmt/format.h>

#include <memory>

#include "algorithms/algorithm.hpp"
#include "cli/command.hpp"
#include "cli/preload.hpp"
#include "harness/names.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"

namespace taquin::cli {

namespace {

struct wrap_arguments {
  std::string mpi;
  std::string algorithm;
  std::string memory;
  bool check = false;
  bool scalapack = false;
  observation_files files;
};

// Some algorithms exchange in one buffer alone: an unchanged program does so only with MPI_IN_PLACE.
void check_use(const std::string& name) {
  if (name == "auto") return;
  const detail::algorithm& a = *detail::find_algorithm(name);
  constexpr int ranks = 4;
  constexpr std::uint64_t bytes = 64;
  detail::shape s{.ranks = ranks,
                  .shared = true,
                  .uniform = true,
                  .max_peers = ranks,
                  .one_unit = true,
                  .unit_size = 1,
                  .max_block_bytes = bytes,
                  .min_block_bytes = bytes,
                  .max_rank_bytes = ranks * bytes,
                  .max_received_bytes = ranks * bytes};
  for (const auto kind : {exchange::form::alltoall, exchange::form::alltoallv, exchange::form::alltoallw}) {
    s.kind = kind;
    s.uniform = kind == exchange::form::alltoall;
    s.nodes = 2;
    s.largest_node = s.smallest_node = 2;
    if (a.supports(s)) return;
  }
  s.in_place = s.symmetric = true;
  if (!a.supports(s)) throw usage(fmt::format("'{}' serves no call of MPI's: choose another algorithm", name));
  if (harness::first_of_launcher())
    fmt::print(stderr, "taquin wrap: '{}' serves calls with MPI_IN_PLACE alone; others go to the MPI library\n", name);
}

int execute_wrap(const wrap_arguments& a, const std::vector<std::string>& command) {
  check_command(command);
  if (!a.algorithm.empty()) {
    check_algorithms({a.algorithm}, false);
    check_use(a.algorithm);
    set_variable("TAQUIN_ALGORITHM", a.algorithm == "auto" ? "" : a.algorithm);
  }
  if (!a.memory.empty()) set_variable("TAQUIN_MEMORY", std::to_string(parse_size(a.memory)));
  if (a.check) set_variable("TAQUIN_CHECK", "1");
  set_variables(a.files);
  become(command, a.mpi, a.scalapack);
}

std::function<int()> set_up_wrap(CLI::App& app) {
  auto a = std::make_shared<wrap_arguments>();
  app.add_option("-a,--algorithm", a->algorithm,
                 "a name from 'taquin list', or auto; default: TAQUIN_ALGORITHM or auto");
  app.add_option("-m,--memory", a->memory, "scratch memory per rank: 64, 4K, 50M; default: no limit");
  app.add_flag("--check", a->check, "compare what ranks send with what their peers expect, before each exchange");
  app.add_flag("--scalapack", a->scalapack,
               "ScaLAPACK's p?gemr2d and p?trmr2d go through taquin, too: within -m, or 5% of the local matrix");
  add_observation_options(app, a->files);
  add_mpi_option(app, a->mpi);
  app.prefix_command();
  app.footer(R"(PROGRAM and its arguments come last, after -- if you like.

taquin serves MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw, and where that is faster their nonblocking, persistent and
neighbourhood forms. The MPI library serves the rest: the first calls on a communicator, intercommunicators, device
buffers, forms that the named algorithm lacks, calls over the memory limit. TAQUIN_REPORT=summary counts them.

Examples:
  mpirun -n 4 taquin wrap -a pairwise ./program input.dat
  mpirun -n 4 taquin wrap --trace program.pftrace ./program input.dat
  mpirun -n 4 taquin wrap -m 16M ./program -v input.dat)");
  return [a, &app] { return execute_wrap(*a, app.remaining()); };
}

}  // namespace

const command wrap_command{"wrap", "run a program with taquin underneath: wrap [-a NAME] [-m SIZE] PROGRAM ARGS...",
                           set_up_wrap};

}  // namespace taquin::cli
