#include "faults/hostile_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "redistribute/machine.hpp"

namespace taquin::soak {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(called::kinds)> call_names{
    "alltoall", "alltoallv", "alltoallw", "in place", "redistribution", "migration", "sparse exchange"};
constexpr std::array<const char*, static_cast<std::size_t>(surface::kinds)> surface_names{"C++", "C++ in steps", "C",
                                                                                          "C in steps"};
constexpr std::array<const char*, static_cast<std::size_t>(offence::kinds)> offence_names{
    "none",      "memory",   "no memory from then on",
    "MPI call",  "argument", "sizes",
    "limit",     "thrown",   "absent",
    "impatient", "dropped",  "other call"};

// Every algorithm that may serve, and "auto" as often as a third of them.
std::string_view pick_algorithm(source& s, called what) {
  if (what == called::migration || s.one_in(3)) return "auto";
  std::vector<std::string_view> names;
  if (what == called::sparse) {
    for (const auto* a : detail::sparse_algorithms())
      if (a->find != nullptr) names.push_back(a->name);
  } else if (what == called::redistribution) {
    for (const auto* a : detail::redistributions()) names.push_back(a->name);
  } else if (what == called::in_place) {
    names = {"in_place", "in_place_phases"};
  } else {
    for (const auto* a : detail::algorithms()) names.push_back(a->name);
  }
  return names[s.below(names.size())];
}

bool is_odd_pair(const hostile_recipe& r, int from, int to) noexcept {
  if (r.harm != offence::sizes) return false;
  const bool sender_errs = (r.variant & 1) == 0;
  return sender_errs ? from == r.offender && to == r.victim : from == r.victim && to == r.offender;
}

// The blocks that are sent without harm.
count_t true_count(const hostile_recipe& r, int from, int to) noexcept {
  if (r.what == called::alltoall) return r.most;
  if ((r.what == called::in_place && r.symmetric) && from > to) std::swap(from, to);
  source s(hash(r.seed, static_cast<std::uint64_t>(from) * 1000 + static_cast<std::uint64_t>(to), 5));
  if (r.load == 1) return r.most;
  if (r.load == 2 && !s.one_in(3)) return 0;
  return s.any_size(r.most);
}

count_t odd_count(const hostile_recipe& r, count_t right) noexcept {
  switch (r.variant / 2 % 4) {
    case 0:
      return right / 2;
    case 1:
      return right + 1;
    case 2:
      return right + 5000;
    default:
      return 0;
  }
}

}  // namespace

const char* name_of(called what) noexcept { return call_names.at(static_cast<std::size_t>(what)); }
const char* name_of(offence harm) noexcept { return offence_names.at(static_cast<std::size_t>(harm)); }

count_t sent_count(const hostile_recipe& r, int from, int to) noexcept {
  if (!is_odd_pair(r, from, to) && !(r.symmetric && is_odd_pair(r, to, from))) return true_count(r, from, to);
  const count_t right = std::max<count_t>(true_count(r, from, to), 4);
  return from == r.offender ? odd_count(r, right) : right;
}

count_t expected_count(const hostile_recipe& r, int from, int to) noexcept {
  if (!is_odd_pair(r, from, to) && !(r.symmetric && is_odd_pair(r, to, from))) return true_count(r, from, to);
  const count_t right = std::max<count_t>(true_count(r, from, to), 4);
  return to == r.offender ? odd_count(r, right) : right;
}

hostile_recipe make_hostile_recipe(std::uint64_t seed, int p) {
  source s(seed);
  hostile_recipe r;
  r.seed = seed;
  r.p = p;
  r.what = static_cast<called>(s.below(static_cast<std::uint64_t>(called::kinds)));
  r.by = static_cast<surface>(s.below(static_cast<std::uint64_t>(surface::kinds)));
  r.algorithm = pick_algorithm(s, r.what);
  r.harm = static_cast<offence>(s.below(static_cast<std::uint64_t>(offence::kinds)));
  r.offender = static_cast<int>(s.below(static_cast<std::uint64_t>(p)));
  r.victim = (r.offender + s.between(1, std::max(p - 1, 1))) % p;
  r.step = static_cast<int>(s.below(3));
  r.n = static_cast<int>(s.any_size(80));
  r.variant = static_cast<int>(s.below(64));
  r.most = 1 + s.any_size(s.one_in(12) ? 200000 : 9000);
  r.load = static_cast<int>(s.below(3));
  r.symmetric = r.what == called::in_place && s.one_in(2);
  r.warm = !s.one_in(3) || r.harm == offence::mpi_call;  // ranks that do not know each other cannot report it
  r.delays = s.one_in(3);
  r.watched = s.one_in(6);
  if (s.one_in(8)) r.memory = static_cast<std::size_t>(s.any_size(1 << 20));
  return r;
}

bool simplify(hostile_recipe& r, int way) {
  const auto changed = [](auto& field, auto value) {
    if (field == value) return false;
    field = value;
    return true;
  };
  switch (way) {
    case 0:
      return changed(r.delays, false);
    case 1:
      return changed(r.memory, unlimited);
    case 2:
      return changed(r.algorithm, std::string_view("auto"));
    case 3:
      return changed(r.by, r.in_steps() ? surface::steps : surface::blocking);
    case 4:
      return changed(r.most, std::max<count_t>(r.most / 2, 1));
    case 5:
      return changed(r.load, 1);
    case 6:
      return changed(r.n, r.n / 2);
    case 7:
      return changed(r.warm, true);
    case 8:
      return changed(r.watched, false);
    default:
      return r.what != called::in_place && changed(r.step, 0);
  }
}

std::string describe(const hostile_recipe& r) {
  std::string text = fmt::format("{} of {} ranks ({}, algorithm '{}'), blocks of up to {} elements, load {}{}",
                                 name_of(r.what), r.p, surface_names.at(static_cast<std::size_t>(r.by)), r.algorithm,
                                 r.most, r.load, r.symmetric ? ", symmetric" : "");
  if (r.memory != unlimited) text += fmt::format(", memory {}", r.memory);
  text += fmt::format("; offence: {} of rank {} (victim {}, step {}, n {}, variant {}){}{}{}", name_of(r.harm),
                      r.offender, r.victim, r.step, r.n, r.variant, r.warm ? "" : "; first call on the communicator",
                      r.delays ? "; delays" : "", r.watched ? "; watched" : "");
  return text;
}

}  // namespace taquin::soak
