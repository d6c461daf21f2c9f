#include "cli/preload.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/replace_file.hpp"
#include "cli/command.hpp"
#include "cli/program_mpi.hpp"
#include "harness/sizes.hpp"

namespace taquin::cli {

namespace {

constexpr const char* interpose_name = TAQUIN_INTERPOSE;
constexpr const char* scalapack_name = TAQUIN_SCALAPACK;

// Found from the executable, so that a tree can be moved: in `lib` beside `bin` where it was built, in the folder of
// the platform's libraries where it is installed. An installation may hold a build for each MPI library.
// `installed`: its name there; `library_name`: where it was built.
std::filesystem::path library(const char* library_name, const char* installed, const std::string& mpi) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw harness::failure(fmt::format("cannot determine the folder of this program: {}", failed.message()));
  for (const char* folder : {"lib", TAQUIN_LIBRARY_DIR}) {
    const auto top = self.parent_path().parent_path() / folder;
    auto for_mpi = (top / "taquin" / (mpi.empty() ? TAQUIN_MPI_FAMILY : mpi) / installed).lexically_normal();
    if (access(for_mpi.c_str(), R_OK) == 0) return for_mpi;
    if (!mpi.empty() && mpi != TAQUIN_MPI_FAMILY) continue;
    auto path = (top / library_name).lexically_normal();
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  if (!mpi.empty() && mpi != TAQUIN_MPI_FAMILY)
    throw harness::failure(
        fmt::format("the program uses {}, and this installation has no build of {} for it (--mpi names another)", mpi,
                    library_name));
  throw harness::failure(fmt::format("{} is not beside {}", library_name, self.string()));
}

// Looks the program up as execvp does, so that a missing program is an error before anything has changed.
std::filesystem::path find_program(const std::string& name) {
  const auto runs = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return name;
  } else if (const char* listed = std::getenv("PATH")) {
    std::string_view folders = listed;
    while (true) {
      const auto colon = folders.find(':');
      const auto folder = folders.substr(0, colon);
      if (auto path = std::filesystem::path(folder.empty() ? "." : folder) / name; runs(path)) return path;
      if (colon == std::string_view::npos) break;
      folders.remove_prefix(colon + 1);
    }
  }
  throw harness::failure(fmt::format("no program '{}' that can be run", name));
}

}  // namespace

std::vector<std::string> without_separator(const CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  const auto all = app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == arguments[0]; });
  if (all.empty() || !all[0]->get_prefix_command()) return arguments;
  for (std::size_t i = 1; i < arguments.size() && arguments[i].starts_with('-'); ++i) {
    if (arguments[i] == "--") {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    const auto* option = all[0]->get_option_no_throw(arguments[i]);
    if (option != nullptr && option->get_expected_max() > 0) ++i;  // its value
  }
  return arguments;
}

void check_command(const std::vector<std::string>& command) {
  if (command.empty()) throw usage("a program to run is missing");
  if (command.front().starts_with('-')) throw usage(fmt::format("no option '{}'", command.front()));
  static_cast<void>(find_program(command.front()));
}

void set_variable(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0)
    throw harness::failure(fmt::format("cannot set {}: {}", name, std::strerror(errno)));
}

std::filesystem::path writable(const std::string& name) {
  auto path = std::filesystem::absolute(name).lexically_normal();
  if (const auto why = detail::cannot_replace(path.string()))
    throw harness::failure(fmt::format("cannot write {}: {}", path.string(), *why));
  return path;
}

void add_observation_options(CLI::App& app, observation_files& files) {
  app.add_option("--trace", files.trace, "a trace to write, which opens at ui.perfetto.dev: calls, waiting, messages");
  app.add_option("--trace-limit", files.trace_limit, "the most bytes of the trace: 4K, 50M; default: 64M");
  app.add_option("--metrics", files.metrics, "a file of metrics to write, as OpenMetrics text");
}

void set_variables(const observation_files& files) {
  if (!files.trace.empty()) set_variable("TAQUIN_TRACE", writable(files.trace).string());
  if (!files.metrics.empty()) set_variable("TAQUIN_METRICS", writable(files.metrics).string());
  if (!files.trace_limit.empty()) set_variable("TAQUIN_TRACE_LIMIT", std::to_string(parse_size(files.trace_limit)));
}

void add_mpi_option(CLI::App& app, std::string& mpi) {
  app.add_option("--mpi", mpi, "of scripts and programs that load MPI at run time: openmpi, mpich or abi")
      ->check(CLI::IsMember({"openmpi", "mpich", "abi"}));
}

void become(const std::vector<std::string>& command, const std::string& mpi, bool scalapack) {
  const char* others = std::getenv("LD_PRELOAD");
  const std::string of_program = mpi.empty() ? mpi_of(find_program(command.front())) : mpi;
  std::string all = library(interpose_name, "libtaquin_interpose.so", of_program).string();
  if (scalapack) all = library(scalapack_name, "libtaquin_scalapack.so", of_program).string() + ":" + all;
  set_variable("LD_PRELOAD", all + (others != nullptr && *others != '\0' ? std::string(":") + others : ""));
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const int why = errno;
  unsetenv("LD_PRELOAD");  // the message below may start MPI
  throw harness::failure(fmt::format("cannot run '{}': {}", command.front(), std::strerror(why)));
}

}  // namespace taquin::cli
