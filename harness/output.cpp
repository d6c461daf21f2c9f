#include "harness/output.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/replace_file.hpp"
#include "harness/errors.hpp"
#include "harness/session.hpp"
#include "harness/tables.hpp"

namespace taquin::harness {

namespace {

void agree_on(const std::optional<std::string>& fault) {
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw failure(*any);
}

bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

// A recording's name need not be UTF-8: other bytes are replaced.
std::string json_of(const std::vector<nlohmann::json>& records) {
  return nlohmann::json(records).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void check_writable(const std::string& path, int rank) {
  std::optional<std::string> fault;
  if (rank == 0)
    if (const auto why = detail::cannot_replace(path)) fault = fmt::format("cannot write {}: {}", path, *why);
  agree_on(fault);
}

output::output(const std::string& json, int rank, const std::string& csv)
    : json_(json), csv_(csv), rank_(rank), text_(rank != 0 ? nullptr : (json == "-" || csv == "-" ? stderr : stdout)) {
  for (const std::string& path : {json_, csv_})
    if (is_file(path)) check_writable(path, rank);
}

void output::add(std::vector<nlohmann::json> records) {
  for (auto& r : records) records_.push_back(std::move(r));
  write_files(records_);
}

bool output::to_file() const noexcept { return is_file(json_) || is_file(csv_); }

void output::add_partial(std::vector<nlohmann::json> records) const {
  auto all = records_;
  for (auto& r : records) {
    r["partial"] = true;
    all.push_back(std::move(r));
  }
  write_files(all);
}

void output::write_files(const std::vector<nlohmann::json>& records) const {
  if (is_file(json_)) write(json_, json_of(records));
  if (is_file(csv_)) write(csv_, csv_of(records));
}

void output::write(const std::string& path, const std::string& text) const {
  std::optional<std::string> fault;
  if (rank_ == 0) {
    if (path == "-") {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        fault = fmt::format("cannot write to standard output: {}", std::strerror(errno));
    } else if (const auto why = detail::replace_file(path, text)) {
      fault = fmt::format("cannot write {}: {}", path, *why);
    }
  }
  agree_on(fault);
}

void output::finish() {
  if (json_ == "-") write(json_, json_of(records_));
  if (csv_ == "-") write(csv_, csv_of(records_));
  for (const std::string& path : {json_, csv_}) {
    if (!is_file(path)) continue;
    if (records_.empty()) write(path, path == json_ ? json_of(records_) : csv_of(records_));
    if (rank_ == 0) fmt::print(stderr, "{} records written to {}\n", records_.size(), path);
  }
}

}  // namespace taquin::harness
