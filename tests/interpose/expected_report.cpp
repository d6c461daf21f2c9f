// expected_report [passed_on] FILE: the full report of program.c on two ranks, figure by figure where they are known.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

namespace {

int faults = 0;

void expect(bool right, const nlohmann::json& seen, const char* what) {
  if (right) return;
  fmt::print("wrong: {}: {}\n", what, seen.dump());
  ++faults;
}

std::size_t by_library(const nlohmann::json& site) {
  for (const auto& a : site["algorithms"])
    if (a["name"] == "native") return a["calls"];
  return 0;
}

std::size_t passed_on(const nlohmann::json& site) {
  std::size_t sum = 0;
  for (const auto& f : site["fallbacks"]) sum += f["calls"].get<std::size_t>();
  return sum;
}

// passed_on FILE: by form and reason, after the same check of all sites.
int show_passed_on(const nlohmann::json& report) {
  for (const auto& site : report["sites"])
    expect(passed_on(site) == by_library(site), site, "every call of the MPI library has a reason");
  for (const auto& [what, calls] : report["left_to_mpi"].items()) fmt::print("{} {}\n", calls.get<std::size_t>(), what);
  return faults > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "passed_on")
    return show_passed_on(nlohmann::json::parse(std::ifstream(argv[2])));
  if (argc != 2) return 2;
  const auto report = nlohmann::json::parse(std::ifstream(argv[1]));
  expect(report["taquin_report"] == 1, report["taquin_report"], "version");
  expect(report["ranks"] == 2, report["ranks"], "ranks");
  expect(report["nodes"] == 1, report["nodes"], "nodes");
  expect(report["seconds"] > 0, report["seconds"], "seconds");
  std::size_t uniform = 0;
  for (const auto& site : report["sites"]) {
    const auto ranks = site["communicator"]["ranks"].get<std::size_t>();
    expect(site["function"].is_string(), site, "function");
    expect(site["seconds"] >= site["waiting_seconds"] && site["waiting_seconds"] >= 0, site, "seconds");
    expect(site["sent"].size() == ranks && site["received"].size() == ranks, site, "sent and received");
    long sent = 0;
    long received = 0;
    long flows = 0;
    for (const auto& bytes : site["sent"]) sent += bytes.get<long>();
    for (const auto& bytes : site["received"]) received += bytes.get<long>();
    for (const auto& flow : site["flows"]) flows += flow[2].get<long>();
    expect(site["bytes"] == sent && sent == received && sent == flows, site, "bytes");
    long blocks = 0;
    for (const auto& size : site["sizes"]) blocks += size[1].get<long>();
    expect(site["calls"].get<std::size_t>() * ranks * ranks == static_cast<std::size_t>(blocks), site, "sizes");
    std::size_t calls = 0;
    for (const auto& a : site["algorithms"]) calls += a["calls"].get<std::size_t>();
    expect(site["calls"] == calls, site, "algorithms");
    expect(passed_on(site) == by_library(site), site, "every call of the MPI library has a reason");
    if (site["form"] == "alltoall" && site["function"] == "uniform" && site["calls"] == 5 + 2) uniform = calls;
  }
  expect(uniform == 5 + 2, report["sites"], "calls in uniform()");
  return faults > 0 ? 1 : 0;
}
