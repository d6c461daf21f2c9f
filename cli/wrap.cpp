// taquin wrap: run a program with taquin underneath.
#include <memory>

#include "cli/command.hpp"
#include "cli/names.hpp"
#include "cli/preload.hpp"
#include "cli/sizes.hpp"

namespace taquin::cli {

namespace {

struct arguments {
  std::string algorithm;
  std::string memory;
  bool check = false;
};

int work(const arguments& a, const std::vector<std::string>& command) {
  check_command(command);
  if (!a.algorithm.empty()) {
    check_algorithms({a.algorithm}, false);
    set_variable("TAQUIN_ALGORITHM", a.algorithm == "auto" ? "" : a.algorithm);
  }
  if (!a.memory.empty()) set_variable("TAQUIN_MEMORY", std::to_string(parse_size(a.memory)));
  if (a.check) set_variable("TAQUIN_CHECK", "1");
  become(command);
}

std::function<int()> setup(CLI::App& app) {
  auto a = std::make_shared<arguments>();
  app.add_option("-a,--algorithm", a->algorithm,
                 "a name from 'taquin list', or auto; default: TAQUIN_ALGORITHM or auto");
  app.add_option("-m,--memory", a->memory, "extra bytes per rank that taquin may take: 64, 4K, 50M; default: no limit");
  app.add_flag("--check", a->check, "compare what ranks send with what their peers expect, before each exchange");
  app.prefix_command();
  app.footer(R"(PROGRAM and its arguments come last.

The program's MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw go through taquin. What taquin cannot serve (between
groups, in place with an algorithm that has no such form, within too little memory) goes to the MPI library.

Examples:
  mpirun -n 4 taquin wrap -a pairwise ./program input.dat
  mpirun -n 4 taquin wrap -m 16M ./program -v input.dat)");
  return [a, &app] { return work(*a, app.remaining()); };
}

}  // namespace

const command wrap_command{"wrap", "run a program with taquin underneath: wrap [-a NAME] [-m SIZE] PROGRAM ARGS...",
                           setup};

}  // namespace taquin::cli
