#include "harness/output.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "harness/errors.hpp"
#include "harness/session.hpp"
#include "harness/tables.hpp"

namespace taquin::harness {

namespace {

void agree_on(const std::optional<std::string>& fault) {
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw failure(*any);
}

}  // namespace

output::output(const std::string& json, int rank, const std::string& csv)
    : json_{json}, csv_{csv}, rank_(rank), text_(rank != 0 ? nullptr : (json == "-" || csv == "-" ? stderr : stdout)) {
  open(json_);
  open(csv_);
}

void output::open(target& t) {
  std::optional<std::string> fault;
  if (rank_ == 0 && !t.path.empty() && t.path != "-") {
    t.file.open(t.path);
    if (!t.file) fault = fmt::format("cannot write {}: {}", t.path, std::strerror(errno));
  }
  agree_on(fault);
}

void output::add(std::vector<nlohmann::json> records) {
  for (auto& r : records) records_.push_back(std::move(r));
}

void output::write(target& t, const std::string& text) {
  std::optional<std::string> fault;
  if (rank_ == 0) {
    if (t.path == "-") {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        fault = fmt::format("cannot write to standard output: {}", std::strerror(errno));
    } else {
      t.file << text << std::flush;
      if (!t.file) fault = fmt::format("cannot write {}: {}", t.path, std::strerror(errno));
      if (t.file) fmt::print(stderr, "{} records written to {}\n", records_.size(), t.path);
    }
  }
  agree_on(fault);
}

void output::finish() {
  // A recording's name need not be UTF-8: what is not is replaced.
  if (!json_.path.empty())
    write(json_, nlohmann::json(records_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!csv_.path.empty()) write(csv_, csv_of(records_));
}

}  // namespace taquin::harness
