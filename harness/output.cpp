#include "harness/output.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "harness/errors.hpp"
#include "harness/session.hpp"

namespace taquin::harness {

namespace {

void agree_on(const std::optional<std::string>& fault) {
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw failure(*any);
}

}  // namespace

output::output(const std::string& json, int rank)
    : path_(json), rank_(rank), text_(rank != 0 ? nullptr : (json == "-" ? stderr : stdout)) {
  std::optional<std::string> fault;
  if (rank == 0 && !path_.empty() && path_ != "-") {
    file_.open(path_);
    if (!file_) fault = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
  }
  agree_on(fault);
}

void output::add(std::vector<nlohmann::json> records) {
  for (auto& r : records) records_.push_back(std::move(r));
}

void output::finish() {
  if (path_.empty()) return;
  std::optional<std::string> fault;
  if (rank_ == 0) {
    const std::string text = records_.dump(2) + "\n";
    if (path_ == "-") {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        fault = fmt::format("cannot write to standard output: {}", std::strerror(errno));
    } else {
      file_ << text << std::flush;
      if (!file_) fault = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
    }
  }
  agree_on(fault);
}

}  // namespace taquin::harness
