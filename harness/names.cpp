#include "harness/names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "harness/errors.hpp"
#include "harness/nearest.hpp"

namespace taquin::harness {

std::string unknown_algorithm(const std::string& name, const std::string& known) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < known.size();) {
    const std::size_t end = std::min(known.find(", ", at), known.size());
    names.push_back(known.substr(at, end - at));
    at = end + 2;
  }
  const std::string meant = nearest(name, names);
  return fmt::format("unknown algorithm '{}'; {}known are {}", name,
                     meant.empty() ? "" : fmt::format("did you mean {}? ", meant), known);
}

void check_algorithms(const std::vector<std::string>& names, bool all_allowed) {
  for (const std::string& name : names) {
    if (name == "auto" || (all_allowed && name == "all") || detail::find_algorithm(name) != nullptr) continue;
    throw usage(unknown_algorithm(name, (all_allowed ? "all, auto, " : "auto, ") + detail::algorithm_names()));
  }
}

workloads::workload parse_workload(const std::string& text) {
  try {
    return workloads::workload::parse(text);
  } catch (const workloads::bad_workload& e) {
    throw usage(e.what());
  }
}

std::string workload_help() {
  std::string text = "Workloads:\n";
  for (const auto& g : workloads::generators()) {
    std::string name(g.name);
    if (g.parameter.starts_with('[')) {
      name += fmt::format("[:{}", g.parameter.substr(1));
    } else if (!g.parameter.empty()) {
      name += fmt::format(":{}", g.parameter);
    }
    text += fmt::format("  {:<12}{}\n", name, g.summary);
  }
  return text;
}

exchange::form parse_collective(const std::string& name) {
  if (name == "alltoall") return exchange::form::alltoall;
  if (name == "alltoallv") return exchange::form::alltoallv;
  if (name == "alltoallw") return exchange::form::alltoallw;
  if (name == "sparse")
    throw usage(
        "this cannot be done with sparse exchanges: `taquin run --collective sparse` measures them, `taquin plan` "
        "draws "
        "them, `taquin simulate` predicts their times");
  throw usage(fmt::format("unknown collective '{}'; known are alltoall, alltoallv, alltoallw, sparse", name));
}

}  // namespace taquin::harness
