#include "program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace taquin::cli {

std::string temporary_path(const std::string& name) {
  return (std::filesystem::temp_directory_path() / fmt::format("taquin-test-{}-{}", getpid(), name)).string();
}

result taquin(int ranks, const std::string& arguments) {
  const std::string errors = temporary_path("stderr");
  const std::string launcher = ranks > 0 ? fmt::format("{} {} ", TAQUIN_MPIEXEC, ranks) : "";
  const std::string command = fmt::format("{}'{}' {} 2>'{}' </dev/null", launcher, TAQUIN_PROGRAM, arguments, errors);
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): its words are the tests' own
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  result r;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) r.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  r.err = text.str();
  std::filesystem::remove(errors);
  return r;
}

nlohmann::json interrupted(int ranks, const std::string& arguments,
                           const std::function<bool(const nlohmann::json&)>& enough) {
  const std::string path = temporary_path("kept.json");
  std::ofstream(path) << "\"old\"\n";
  const std::string launcher = ranks > 0 ? fmt::format("{} {} ", TAQUIN_MPIEXEC, ranks) : "";
  const std::string command = fmt::format("exec {}'{}' {} >/dev/null 2>&1 </dev/null", launcher, TAQUIN_PROGRAM,
                                          fmt::format(fmt::runtime(arguments), path));
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  const auto now = [&] {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
  };
  bool ended = false;
  for (auto kept = now(); !ended && (kept == "old" || !enough(kept)); kept = now()) {
    usleep(10000);
    ended = waitpid(child, nullptr, WNOHANG) != 0;
  }
  EXPECT_FALSE(ended) << command << " was not long enough";
  if (!ended) {
    kill(child, ranks > 0 ? SIGTERM : SIGKILL);  // mpirun ends its processes
    waitpid(child, nullptr, 0);
  }
  auto kept = now();
  std::filesystem::remove(path);
  return kept;
}

int occurrences(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

void expect_refused(const std::string& command, std::span<const std::pair<const char*, const char*>> cases) {
  int ranks = 2;
  for (const auto& [arguments, message] : cases) {
    const auto r = taquin(ranks, command + " " + arguments);
    ranks = 0;  // mpirun makes no difference to what is wrong
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(occurrences(r.err, message), 1) << arguments << ": " << r.err;
    EXPECT_EQ(r.out, "") << arguments;
  }
}

}  // namespace taquin::cli
