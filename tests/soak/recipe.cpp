#include "soak/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "soak/layout.hpp"

namespace taquin::soak {

namespace {

using form = exchange::form;

template <class T, std::size_t N>
T one_of(source& s, const std::array<T, N>& list) {
  return list[s.below(N)];
}

// Those that serve such exchanges; a few that do not serve all of them are refused on all ranks, which is tried too.
std::string_view pick_algorithm(source& s, const recipe& r) {
  static constexpr std::array<std::string_view, 6> in_place{"auto",   "in_place", "in_place_phases",
                                                            "native", "in_place", "shared_memory"};
  static constexpr std::array<std::string_view, 15> any{"native",
                                                        "shared_memory",
                                                        "spread_out",
                                                        "pairwise",
                                                        "one_factor",
                                                        "bruck_v",
                                                        "bruck_v",
                                                        "zero_copy_bruck_v",
                                                        "two_phase",
                                                        "two_phase",
                                                        "node_aggregated",
                                                        "hierarchical_factor",
                                                        "multilevel",
                                                        "hierarchical_k_factor",
                                                        "hierarchical_permutation"};
  static constexpr std::array<std::string_view, 4> equal{"basic_bruck", "modified_bruck", "zero_copy_bruck",
                                                         "lean_bruck"};
  if (s.one_in(3)) return "auto";
  if (r.in_place) return one_of(s, in_place);
  if (r.load == workload::uniform && r.giant == 0 && s.one_in(3)) return one_of(s, equal);
  return one_of(s, any);
}

void pick_options(source& s, recipe& r) {
  static constexpr std::array<std::string_view, 3> levels{"bruck_v,spread_out", "spread_out", "pairwise,bruck_v"};
  static constexpr std::array<std::string_view, 3> inner{"spread_out", "bruck_v", "pairwise"};
  options& o = r.choices;
  o.algorithm = pick_algorithm(s, r);
  if (!s.one_in(3)) return;
  if (s.one_in(2)) o.bruck.radix = s.between(2, r.p + 2);
  if (s.one_in(2)) o.bruck.layout = static_cast<bruck_layout>(s.below(6));
  if (s.one_in(3)) o.in_flight = s.between(1, 4);
  if (s.one_in(2)) o.two_phase.inner = one_of(s, inner);
  if (s.one_in(2)) o.multilevel.levels = one_of(s, levels);
  if (s.one_in(3)) o.hierarchical_factor.ports = s.between(1, 3);
  if (s.one_in(3)) o.node_aggregated.leaders = s.between(1, 3);
  if (s.one_in(3)) o.in_place_phases.aux_parts = s.between(1, r.p + 1);
  o.in_place_phases.aux_heap = s.one_in(3);
  o.in_place_phases.sparse_requests = !s.one_in(3);
  o.in_place.scratch_sends = s.one_in(3);
  o.check = s.one_in(6);
  o.tune = s.one_in(6);
  if (s.one_in(2)) {
    for (int left = r.p; left > 0; ++r.nodes) {
      const int size = s.between(1, left);
      r.node_sizes[static_cast<std::size_t>(r.nodes)] = size;
      left -= size;
    }
  }
}

void pick_sizes(source& s, recipe& r) {
  static constexpr std::array<count_t, 10> bounds{2, 4, 8, 20, 40, 100, 200, 400, 1500, 6000};
  r.load = static_cast<workload>(s.one_in(3) ? s.below(8) : s.below(4));
  r.most = static_cast<count_t>(s.below(static_cast<std::uint64_t>(one_of(s, bounds)) + 1));
  if (s.one_in(150)) {
    r.giant = 20000 + s.any_size(s.one_in(8) ? 1000000 : 200000);
    r.giant_from = s.between(0, r.p - 1);
    r.giant_to = s.between(0, r.p - 1);
  }
  if (r.form != form::alltoall) return;
  r.load = workload::uniform;
  if (r.giant > 0) r.most = r.giant / r.p;
  r.giant = 0;
}

void pick_type(source& s, recipe& r) {
  r.type = s.one_in(2) ? s.below(2) : s.below(all_types().size());
  r.shuffled = r.form != form::alltoall && !s.one_in(3);
  const bool mixed = r.form == form::alltoallw;
  const bool few = r.most * r.p <= interleaved_elements && r.giant == 0 && !r.shuffled && !mixed && !r.in_place;
  if (all_types()[r.type].recv.interleaves && !few) r.type = 0;
}

}  // namespace

recipe make_recipe(std::uint64_t seed, int p) {
  source s(seed);
  recipe r;
  r.seed = seed;
  r.p = p;
  static constexpr std::array<form, 6> forms{form::alltoall,  form::alltoallv, form::alltoallv,
                                             form::alltoallv, form::alltoallw, form::alltoallw};
  r.form = one_of(s, forms);
  r.in_place = s.one_in(4);
  if (r.in_place && r.form == form::alltoallv) r.symmetric = s.one_in(4);
  pick_sizes(s, r);
  pick_type(s, r);
  pick_options(s, r);
  // Open MPI 4.1 itself errs in MPI_Alltoall of small blocks among many ranks where the two sides lie differently; the
  // first calls on a communicator by auto are its own.
  const auto& sides = all_types()[r.type];
  const bool library_errs = r.form == form::alltoall && r.p > 8 && sides.send.type != sides.recv.type;
  if (library_errs && (r.choices.algorithm == "native" || r.choices.algorithm == "auto"))
    r.choices.algorithm = "spread_out";
  r.narrow = s.one_in(2);
  r.memory = s.one_in(3) ? static_cast<soak::limit>(s.below(4)) : limit::none;
  if (r.memory != limit::none && r.in_place) {  // the least memory moves element by element
    r.most %= 60;
    r.giant = 0;
  }
  r.planned = s.one_in(3);
  r.starts = r.choices.tune ? s.between(1, 12) : s.between(1, 3);
  r.tested = s.one_in(2);
  r.delays = s.one_in(4);
  r.beside = s.one_in(6) ? static_cast<company>(s.below(6)) : company::nothing;
  r.compared = s.one_in(64) && !library_errs;
  return r;
}

count_t count(const recipe& r, int from, int to) noexcept {
  const bool both = r.in_place && r.symmetric;
  if (r.giant > 0 && from == r.giant_from && to == r.giant_to) return r.giant;
  if (r.giant > 0 && both && from == r.giant_to && to == r.giant_from) return r.giant;
  if (r.load == workload::uniform) return r.most;
  if (r.load == workload::empty) return 0;
  if (r.load == workload::self) return from == to ? r.most : 0;
  if (r.load == workload::one_empty && (from == r.p / 2 || (both && to == r.p / 2))) return 0;
  if (r.load == workload::hot && (to == r.p - 1 || (both && from == r.p - 1))) return r.most;
  const auto low = static_cast<std::uint64_t>(both ? std::min(from, to) : from);
  const auto high = static_cast<std::uint64_t>(both ? std::max(from, to) : to);
  const std::uint64_t h = hash(r.seed, low, high);
  const auto most = static_cast<std::uint64_t>(r.most);
  if (r.load == workload::hot) return static_cast<count_t>(h % 2);
  if (r.load == workload::sparse) return h % 3 == 0 ? static_cast<count_t>((h >> 8U) % (most + 1)) : 0;
  if (r.load == workload::zipf) return static_cast<count_t>(most / (1 + h % (2 * most + 1)));
  return static_cast<count_t>(h % (most + 1));
}

std::size_t type_number(const recipe& r, int from, int to) noexcept {
  if (r.form != form::alltoallw) return r.type;
  return (r.type + static_cast<std::size_t>(from + to)) % plain_types();
}

options options_of(const recipe& r) noexcept {
  options o = r.choices;
  o.nodes = {r.node_sizes.data(), static_cast<std::size_t>(r.nodes)};
  return o;
}

bool simplify(recipe& r, int way) {
  if (way < program_simplifications) return simplify_program(r, way);
  const options defaults;
  options& o = r.choices;
  switch (way) {
    case 3:
      return changed(r.nodes, 0);
    case 4:
      return changed(r.starts, 1);
    case 5:
      return changed(r.tested, false);
    case 6:
      return changed(r.planned, false);
    case 7:
      return changed(o.bruck.radix, defaults.bruck.radix) || changed(o.bruck.layout, defaults.bruck.layout);
    case 8:
      return changed(o.in_flight, 0) || changed(o.hierarchical_factor.ports, 0) ||
             changed(o.node_aggregated.leaders, 0) || changed(o.in_place_phases.aux_parts, 0);
    case 9:
      return changed(o.in_place_phases.aux_heap, false) || changed(o.in_place_phases.sparse_requests, true) ||
             changed(o.in_place.scratch_sends, false);
    case 10:
      return changed(o.check, false) || changed(o.tune, false) || changed(r.narrow, false);
    case 11:
      return changed(o.two_phase.inner, defaults.two_phase.inner) ||
             changed(o.multilevel.levels, defaults.multilevel.levels);
    case 12:
      return changed(r.giant, count_t{0});
    case 13:
      return changed(r.most, r.most / 2);
    case 14:
      return changed(r.type, std::size_t{0});
    default:
      return changed(r.shuffled, false);
  }
}

std::string form_name(const recipe& r) {
  static constexpr std::array<std::string_view, 3> names{"alltoall", "alltoallv", "alltoallw"};
  const auto name = names[static_cast<std::size_t>(r.form)];
  return fmt::format("{}{}", name, !r.in_place ? "" : r.symmetric ? " in place" : " in place, any counts");
}

std::string describe(const recipe& r) {
  const options& o = r.choices;
  std::string nodes;
  for (int i = 0; i < r.nodes; ++i)
    nodes += fmt::format("{}{}", i > 0 ? "," : "", r.node_sizes[static_cast<std::size_t>(i)]);
  return fmt::format(
      "{} on {} ranks, algorithm {}, workload {} up to {} elements, giant {} ({} to {}), type {}, {}, {}-bit counts,\n"
      "  memory {}, radix {}, layout {}, in_flight {}, inner {}, levels {}, ports {}, leaders {}, aux_parts {},\n"
      "  aux_heap {}, sparse_requests {}, scratch_sends {}, check {}, tune {}, nodes [{}], {} {} {}, delays {}, beside "
      "{}",
      form_name(r), r.p, o.algorithm, static_cast<int>(r.load), r.most, r.giant, r.giant_from, r.giant_to,
      r.form == form::alltoallw ? fmt::format("{} + from + to", r.type) : std::string(all_types()[r.type].name),
      r.shuffled ? "shuffled" : "in order", r.narrow ? 32 : 64, static_cast<int>(r.memory), o.bruck.radix.value_or(0),
      static_cast<int>(o.bruck.layout), o.in_flight, o.two_phase.inner, o.multilevel.levels,
      o.hierarchical_factor.ports, o.node_aggregated.leaders, o.in_place_phases.aux_parts, o.in_place_phases.aux_heap,
      o.in_place_phases.sparse_requests, o.in_place.scratch_sends, o.check, o.tune, nodes, r.planned ? "plan," : "call",
      r.planned ? fmt::format("{} starts,", r.starts) : std::string(),
      r.planned ? (r.tested ? "tested" : "waited") : "", r.delays, static_cast<int>(r.beside));
}

}  // namespace taquin::soak
