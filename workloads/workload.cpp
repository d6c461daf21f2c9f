#include "workloads/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/sizes.hpp"

namespace taquin::workloads {

namespace {

std::string known() {
  std::string names;
  for (const generator& g : generators()) {
    if (!names.empty()) names += ", ";
    names += g.name;
    if (g.parameter.starts_with('[')) {
      names += fmt::format("[:{}", g.parameter.substr(1));
    } else if (!g.parameter.empty()) {
      names += fmt::format(":{}", g.parameter);
    }
  }
  return names;
}

double parse_parameter(const generator& g, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    throw bad_workload(fmt::format("workload {}: '{}' is not a number", g.name, text));
  if (g.whole && (value != std::floor(value) || std::abs(value) > 1e9))
    throw bad_workload(fmt::format("workload {}: '{}' is not a whole number of at most 10^9", g.name, text));
  if (value < g.least) throw bad_workload(fmt::format("workload {}: {} is below {}", g.name, text, g.least));
  return value;
}

}  // namespace

workload workload::parse(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto all = generators();
  const auto found = std::ranges::find(all, name, &generator::name);
  if (found == all.end()) throw bad_workload(fmt::format("unknown workload '{}'; known are {}", name, known()));
  const generator& g = *found;
  double parameter = g.fallback;
  if (colon != std::string_view::npos) {
    if (g.parameter.empty()) throw bad_workload(fmt::format("workload {} takes no parameter", name));
    parameter = parse_parameter(g, text.substr(colon + 1));
  } else if (!g.parameter.empty() && !g.parameter.starts_with('[')) {
    throw bad_workload(fmt::format("workload {0} needs a parameter: {0}:{1}", name, g.parameter));
  }
  return {&g, parameter, std::string(text)};
}

std::vector<count_t> workload::row(const problem_size& size, int from) const {
  std::vector<count_t> row(detail::as_size(size.ranks));
  if (generator_->row != nullptr) {
    generator_->row(size, parameter_, from, row);
  } else {
    for (int to = 0; to < size.ranks; ++to) row[detail::as_size(to)] = generator_->block(size, parameter_, from, to);
  }
  return row;
}

std::vector<count_t> workload::column(const problem_size& size, int to) const {
  std::vector<count_t> column(detail::as_size(size.ranks));
  std::vector<count_t> scratch(generator_->row != nullptr ? column.size() : 0);
  for (int from = 0; from < size.ranks; ++from) {
    auto& entry = column[detail::as_size(from)];
    if (generator_->row == nullptr) {
      entry = generator_->block(size, parameter_, from, to);
      continue;
    }
    std::ranges::fill(scratch, 0);
    generator_->row(size, parameter_, from, scratch);
    entry = scratch[detail::as_size(to)];
  }
  return column;
}

}  // namespace taquin::workloads
