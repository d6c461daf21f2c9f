// Cost at scale, counted round by round in one process: bench_in_place_scale [MOST_RANKS [BYTES_PER_RANK]]
//
// One JSON record per line: algorithm, ranks, peers of each rank, and the rounds and bytes of bookkeeping of
// the rank that has the most, and the mean of a rank's messages and copied bytes.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/in_place_scale.hpp"

int main(int argc, char** argv) {
  using namespace taquin::detail;
  const int most = argc > 1 ? std::atoi(argv[1]) : 1024;
  const taquin::count_t bytes = argc > 2 ? std::atoll(argv[2]) : 1 << 20;
  constexpr std::pair<const char*, scale_algorithm> algorithms[] = {
      {"in_place", scale_algorithm::requests},
      {"in_place_phases", scale_algorithm::phases_dense},
      {"in_place_phases, sparse requests", scale_algorithm::phases_sparse}};
  for (int ranks = 16; ranks <= most; ranks *= 2)
    for (const int peers : {8, ranks})
      for (const auto& [name, algorithm] : algorithms) {
        if (peers == ranks && algorithm == scale_algorithm::phases_sparse) continue;
        const auto c = cost_at_scale(algorithm, ranks, peers, bytes);
        fmt::print("{}\n", nlohmann::json{{"experiment", "scale"},
                                          {"variant", name},
                                          {"ranks", ranks},
                                          {"traffic", peers == ranks ? "all" : "8 peers"},
                                          {"rounds", c.rounds},
                                          {"messages", c.messages},
                                          {"bytes_copied", c.copied},
                                          {"memory", c.memory}}
                               .dump());
        std::fflush(stdout);
      }
}
