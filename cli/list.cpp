// taquin list: the table of algorithms.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/pattern_offline.hpp"
#include "cli/variables.hpp"
#include "harness/sizes.hpp"
#include "harness/sparse_methods.hpp"
#include "redistribute/footprint.hpp"

namespace taquin::cli {

namespace {

using detail::algorithm;
using detail::shape;
using form = exchange::form;

constexpr int sample_ranks = 64;
constexpr std::uint64_t sample_block = 1024;

// A shape that is typical of programs.
shape sample(form kind, bool in_place, bool symmetric) {
  return {.ranks = sample_ranks,
          .kind = kind,
          .in_place = in_place,
          .symmetric = symmetric,
          .shared = true,
          .uniform = kind == form::alltoall,
          .max_peers = sample_ranks,
          .one_unit = in_place,
          .unit_size = in_place ? 1U : 0U,
          .max_block_bytes = sample_block,
          .max_rank_bytes = sample_block * sample_ranks,
          .max_received_bytes = sample_block * sample_ranks};
}

struct ability {
  const char* name;  ///< in JSON
  const char* title;
  shape example;
};

const std::array abilities{
    ability{"alltoall", "alltoall", sample(form::alltoall, false, true)},
    ability{"alltoallv", "alltoallv", sample(form::alltoallv, false, true)},
    ability{"alltoallw", "alltoallw", sample(form::alltoallw, false, true)},
    ability{"in_place", "MPI_IN_PLACE", sample(form::alltoallv, true, true)},
    ability{"one_buffer", "one buffer", sample(form::alltoallv, true, false)},
};

// Of the first of the sample exchanges that it serves.
std::size_t memory_of(const algorithm& a) {
  for (const ability& one : {abilities[1], abilities[0], abilities[4], abilities[3], abilities[2]})
    if (a.supports(one.example)) return a.memory(one.example, {});
  return 0;
}

// The algorithms of sparse exchanges, and the hand-written ones that they are measured against.
struct sparse_row {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view rounds;
  std::size_t memory;  // where each rank has `sample_peers` blocks on either side
};

constexpr std::size_t sample_peers = 4;

std::vector<sparse_row> sparse_rows() {
  std::vector<sparse_row> rows;
  for (const auto* a : detail::sparse_algorithms())
    rows.push_back({a->name, a->summary, a->source, a->rounds, detail::sparse_memory(sample_peers)});
  for (const auto& w : sparse_methods())
    rows.push_back({w.name, w.summary, w.source, w.rounds, w.memory(sample_ranks, sample_peers)});
  return rows;
}

nlohmann::json exchanges_json() {
  auto all = nlohmann::json::array();
  for (const algorithm* a : detail::algorithms()) {
    nlohmann::json one{{"name", a->name},
                       {"summary", a->summary},
                       {"source", a->source},
                       {"rounds", a->rounds},
                       {"memory_bytes_64_ranks", memory_of(*a)},
                       {"schedule", a->build != nullptr}};
    for (const ability& can : abilities) one["supports"][can.name] = a->supports(can.example);
    one["supports"]["sparse"] = false;
    all.push_back(std::move(one));
  }
  for (const sparse_row& a : sparse_rows()) {
    nlohmann::json one{{"name", a.name},
                       {"summary", a.summary},
                       {"source", a.source},
                       {"rounds", a.rounds},
                       {"memory_bytes_64_ranks", a.memory},
                       {"schedule", false}};
    for (const ability& can : abilities) one["supports"][can.name] = false;
    one["supports"]["sparse"] = true;
    all.push_back(std::move(one));
  }
  return all;
}

std::string calls(const algorithm& a, std::string_view quote) {
  std::string text;
  for (const ability& can : abilities)
    if (a.supports(can.example)) text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", quote, can.title, quote);
  return text;
}

void print_markdown() {
  fmt::print("| algorithm | what it does | serves | rounds | scratch memory at {} ranks | source |\n", sample_ranks);
  fmt::print("|---|---|---|---|---|---|\n");
  for (const algorithm* a : detail::algorithms())
    fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", a->name, a->summary, calls(*a, ""), a->rounds,
               show_size(static_cast<count_t>(memory_of(*a))), a->source);
  for (const sparse_row& a : sparse_rows())
    fmt::print("| `{}` | {} | sparse | {} | {} | {} |\n", a.name, a.summary, a.rounds,
               show_size(static_cast<count_t>(a.memory)), a.source);
}

void print_text() {
  for (const algorithm* a : detail::algorithms())
    fmt::print(
        "{}\n  {}\n  serves  {}\n  rounds  {}\n  memory  {} of scratch at {} ranks with blocks of {}\n  source  {}\n",
        a->name, a->summary, calls(*a, ""), a->rounds, show_size(static_cast<count_t>(memory_of(*a))), sample_ranks,
        show_size(sample_block), a->source);
  for (const sparse_row& a : sparse_rows())
    fmt::print(
        "{}\n  {}\n  serves  sparse\n  rounds  {}\n  memory  {} of scratch at {} ranks with {} peers\n  source  {}\n",
        a.name, a.summary, a.rounds, show_size(static_cast<count_t>(a.memory)), sample_ranks, sample_peers, a.source);
}

// The algorithms of `taquin redistribute`.
constexpr std::size_t sample_blocks = 1024;

std::size_t memory_of(const detail::redistribution_algorithm& a) {
  return detail::redistribution_footprint(a, detail::redistribution_sizes(sample_block, sample_blocks), sample_ranks,
                                          sample_blocks, sample_block);
}

nlohmann::json redistributions_json() {
  auto all = nlohmann::json::array();
  for (const auto* a : detail::redistributions())
    all.push_back({{"name", a->name},
                   {"summary", a->summary},
                   {"source", a->source},
                   {"rounds", a->rounds},
                   {"memory_bytes_64_ranks", memory_of(*a)}});
  return all;
}

void print_redistributions_markdown() {
  fmt::print("| algorithm | what it does | rounds | scratch memory at {} ranks with {} blocks of {} | source |\n",
             sample_ranks, sample_blocks, show_size(sample_block));
  fmt::print("|---|---|---|---|---|\n");
  for (const auto* a : detail::redistributions())
    fmt::print("| `{}` | {} | {} | {} | {} |\n", a->name, a->summary, a->rounds,
               show_size(static_cast<count_t>(memory_of(*a))), a->source);
}

void print_redistributions_text() {
  for (const auto* a : detail::redistributions())
    fmt::print("{}\n  {}\n  rounds  {}\n  memory  {} of scratch at {} ranks with {} blocks of {}\n  source  {}\n",
               a->name, a->summary, a->rounds, show_size(static_cast<count_t>(memory_of(*a))), sample_ranks,
               sample_blocks, show_size(sample_block), a->source);
  using terms = detail::memory_terms;
  fmt::print(
      "Scratch memory on a rank of p with m blocks of l bytes: tables of at most {0} + {1}·p + {2}·m bytes, and "
      "buffers.\nAt least, with blocks in n equal parts: {0} + {1}·p + {2}·m·n + {3}·l/n bytes.\nBuffers by default: "
      "at "
      "most 1% of the data, or if that is less {4}, for blocks of more than {5} {6}.\n",
      terms::fixed, terms::rank, terms::block, terms::least_buffers, show_size(terms::for_small),
      show_size(terms::small_block), show_size(terms::for_large));
}

// Permutations and the collectives that are built from them.
nlohmann::json patterns_json() {
  auto all = nlohmann::json::array();
  for (const pattern_row& r : pattern_rows())
    all.push_back(
        {{"name", r.name}, {"summary", r.summary}, {"steps", r.steps}, {"time", r.time}, {"source", r.source}});
  return all;
}

void print_patterns(bool markdown) {
  if (markdown) fmt::print("| pattern | what it does | steps | time | source |\n|---|---|---|---|---|\n");
  for (const pattern_row& r : pattern_rows())
    fmt::print(fmt::runtime(markdown ? "| `{}` | {} | {} | {} | {} |\n"
                                     : "{}\n  {}\n  steps   {}\n  time    {}\n  source  {}\n"),
               r.name, r.summary, r.steps, r.time, r.source);
}

struct list_arguments {
  bool redistribution = false;
  bool patterns = false;
  std::string json;
  bool markdown = false;
  bool variables = false;
};

std::function<int()> set_up_list(CLI::App& app) {
  auto a = std::make_shared<list_arguments>();
  app.add_flag("--redistribution", a->redistribution, "the algorithms of 'taquin redistribute' instead");
  app.add_flag("--patterns", a->patterns, "permutations and collectives instead, with their times for m bytes per rank")
      ->excludes("--redistribution");
  auto* json = add_json_option(app, a->json, "a JSON array");
  app.add_flag("--markdown", a->markdown, "as a table for documents")->excludes(json);
  app.add_flag("--variables", a->variables, "the environment variables instead")->excludes(json);
  app.footer(
      "\"one buffer\" is an alltoallv with any counts whose send and receive blocks share a buffer.\n\n"
      "Examples:\n  taquin list\n  taquin list --redistribution\n  taquin list --patterns\n  taquin list --json | jq "
      "-r '.[].name'");
  return [a] {
    const bool r = a->redistribution;
    if (a->variables) {
      fmt::print("{}", a->markdown ? variables_markdown() : variables_text());
    } else if (!a->json.empty()) {
      const auto all = a->patterns ? patterns_json() : r ? redistributions_json() : exchanges_json();
      write_text(a->json, all.dump(2) + "\n");
    } else if (a->patterns) {
      print_patterns(a->markdown);
    } else if (a->markdown) {
      r ? print_redistributions_markdown() : print_markdown();
    } else {
      r ? print_redistributions_text() : print_text();
    }
    return 0;
  };
}

}  // namespace

const command list_command{"list", "the algorithms: what each serves, its memory and rounds", set_up_list};

}  // namespace taquin::cli
