// taquin record: runs a program and writes its exchanges.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/preload.hpp"
#include "harness/session.hpp"

namespace taquin::cli {

namespace {

struct record_arguments {
  std::string mpi;
  std::string output;
  observation_files files;
};

int execute_record(const record_arguments& a, const std::vector<std::string>& command) {
  check_command(command);
  set_variable("TAQUIN_RECORD", writable(a.output).string());  // absolute: the program may change its folder
  set_variables(a.files);
  if (harness::first_of_launcher()) set_variable("TAQUIN_RECORD_PROCESS", std::to_string(getpid()));
  become(command, a.mpi);
}

std::function<int()> set_up_record(CLI::App& app) {
  auto a = std::make_shared<record_arguments>();
  app.add_option("-o,--output", a->output, "the traffic file to write")->required()->type_name("FILE");
  add_observation_options(app, a->files);
  add_mpi_option(app, a->mpi);
  app.prefix_command();
  app.footer(R"(PROGRAM and its arguments come last, after -- if you like.

The file is written when the program calls MPI_Finalize: the bytes of each pair of ranks in each MPI_Alltoall,
MPI_Alltoallv and MPI_Alltoallw, and in each sparse exchange by taquin, and how long it took. The calls themselves stay
the MPI library's, unless TAQUIN_ALGORITHM or TAQUIN_MEMORY is set. docs/internals/file-formats.md describes the format.

Examples:
  mpirun -n 4 taquin record -o program.json ./program input.dat
  mpirun -n 4 taquin run --traffic program.json -a all)");
  return [a, &app] { return execute_record(*a, app.remaining()); };
}

}  // namespace

const command record_command{"record", "run a program and write what it exchanged: record -o FILE PROGRAM ARGS...",
                             set_up_record};

}  // namespace taquin::cli
