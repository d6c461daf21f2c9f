#include "cli/pattern_offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <list>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "harness/sizes.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/print.hpp"

namespace taquin::cli {

using detail::collective;

detail::schedule pattern::build(int rank, int ranks, count_t bytes) const {
  auto* const memory = std::pmr::new_delete_resource();
  const element e = element::bytes(1);
  if (permutation) return detail::permute(*permutation, detail::ordering::together, rank, ranks, by, bytes, e, memory);
  return detail::build_collective(collective, rank, ranks, 0, bytes, e, memory);
}

seconds pattern::closed_form(int ranks, count_t bytes, const hockney& h) const {
  if (!permutation) return detail::closed_form(collective, ranks, bytes, h);
  const bool moves =
      *permutation == patterns::permutation::ring ? by % ranks != 0 : by != 0 && by < ranks && -by < ranks;
  return moves ? h.time(bytes) : 0;
}

namespace {

struct collective_words {
  collective what;
  std::string_view summary;
  std::string_view steps;
  std::string_view time;
  std::string_view source;
};

constexpr std::string_view all_of_it = "lg p · (τ + μm)";
constexpr std::string_view chunks = "lg p · τ + (p − 1) · μm";
constexpr std::array collectives{
    collective_words{collective::barrier, "returns when all ranks have called it", "lg p", "lg p · τ",
                     "MPI primitives §4.1"},
    collective_words{collective::broadcast, "from the root to all", "lg p", all_of_it, "MPI primitives §4.3"},
    collective_words{collective::reduce, "combined in rank order, at the root", "lg p", all_of_it,
                     "MPI primitives §4.2"},
    collective_words{collective::allreduce, "the same on all ranks", "lg p, one or two more where p is no power of 2",
                     all_of_it, "MPI primitives §4.2"},
    collective_words{collective::gather, "from every rank to the root", "lg p", chunks, "MPI primitives §4.4"},
    collective_words{collective::allgather, "the same to all ranks", "lg p", chunks, "MPI primitives §4.4"},
    collective_words{collective::scatter, "from the root to each rank", "lg p", chunks, "MPI primitives §4.5"},
    collective_words{collective::scan, "on rank r those of ranks 0 to r combined", "lg p", all_of_it,
                     "MPI primitives §4.6"}};
static_assert(collectives.size() == detail::all_collectives.size());

constexpr std::string_view paper = "MPI primitives §3";

pattern parse(const std::string& text) {
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const auto* const permuted =
      std::ranges::find(detail::all_permutations, name, [](patterns::permutation p) { return detail::name_of(p); });
  if (permuted != detail::all_permutations.end()) {
    pattern p{.name = detail::name_of(*permuted), .permutation = *permuted};
    if (colon == std::string::npos) return p;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, p.by);
    if (read.ec != std::errc{} || read.ptr != end || (*permuted == patterns::permutation::hypercube && p.by < 0))
      throw usage(fmt::format("'{}': a permutation by how many places? As in {}:2", text, name));
    return p;
  }
  const auto* const known =
      std::ranges::find(collectives, text, [](const collective_words& w) { return detail::name_of(w.what); });
  if (known != collectives.end()) return {.name = detail::name_of(known->what), .collective = known->what};
  std::string names;
  for (const pattern_row& r : pattern_rows()) names += fmt::format(", {}", r.name);
  throw usage(fmt::format("unknown pattern '{}'; known are all{}", text, names));
}

}  // namespace

std::vector<pattern_row> pattern_rows() {
  std::vector<pattern_row> rows;
  for (const auto p : detail::all_permutations)
    rows.push_back({detail::name_of(p), detail::summary_of(p), "1", "τ + μm", paper});
  for (const auto& c : collectives) rows.push_back({detail::name_of(c.what), c.summary, c.steps, c.time, c.source});
  return rows;
}

std::vector<pattern> parse_patterns(const std::vector<std::string>& names) {
  std::vector<pattern> all;
  for (const std::string& name : names) {
    if (name != "all") {
      all.push_back(parse(name));
      continue;
    }
    for (const pattern_row& r : pattern_rows()) all.push_back(parse(std::string(r.name)));
  }
  return all;
}

int plan_pattern(const std::string& name, int ranks, int rank, count_t bytes) {
  if (rank >= ranks) throw usage(fmt::format("rank {} does not exist among {} ranks", rank, ranks));
  const pattern p = parse(name);
  const auto s = p.build(rank, ranks, bytes);
  fmt::print("{}, rank {} of {}, {} per rank\n{} rounds, {} messages, {} copies, {} bytes of scratch\n{}", name, rank,
             ranks, show_size(bytes), s.rounds.size(), s.messages.size(), s.copies.size(), s.scratch_bytes,
             detail::to_text(s));
  return 0;
}

seconds time_of(const pattern& p, int ranks, count_t bytes, const detail::topology& nodes, const machine_model& m) {
  std::list<detail::schedule> all;
  std::vector<const detail::schedule*> pointers;
  for (int rank = 0; rank < ranks; ++rank) pointers.push_back(&all.emplace_back(p.build(rank, ranks, bytes)));
  return detail::evaluate_slowest(pointers, m, nodes.nodes().group);
}

}  // namespace taquin::cli
