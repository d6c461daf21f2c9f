// A random exchange, known to all ranks of a communicator: all follows from a seed and the number of ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "soak/random.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::soak {

inline constexpr int most_ranks = 64;

/// How many elements go from whom to whom.
enum class workload : std::uint8_t { uniform, random, sparse, zipf, hot, one_empty, self, empty };
/// The kind of memory limit.
enum class limit : std::uint8_t { none, least, above_least, too_small };
/// The program's actions beside the exchange, on the same communicator.
enum class company : std::uint8_t { nothing, barrier, reduction, messages, open_barrier, alltoall };

struct recipe {
  std::uint64_t seed = 0;
  int p = 1;
  exchange::form form = exchange::form::alltoall;
  bool in_place = false;
  bool symmetric = true;  ///< in place: as MPI_IN_PLACE
  workload load = workload::uniform;
  count_t most = 0;   ///< elements in a block
  count_t giant = 0;  ///< elements of one block that is larger than all others; 0: none
  int giant_from = 0;
  int giant_to = 0;
  std::size_t type = 0;   ///< alltoallw: of pair (i, j) the one numbered type + i + j
  bool shuffled = false;  ///< blocks in random order with gaps
  bool narrow = false;    ///< counts in 32-bit arrays
  options choices{};      ///< `nodes` and `memory` are not in it
  std::array<int, most_ranks> node_sizes{};
  int nodes = 0;
  soak::limit memory = limit::none;
  bool planned = false;  ///< a plan rather than a blocking call
  int starts = 1;        ///< of the plan
  bool tested = false;   ///< completed by test() rather than wait()
  bool delays = false;   ///< ranks come at random times
  company beside = company::nothing;
  bool compared = false;  ///< the MPI library's own call is made as well
};

/// Another recipe for every seed.
recipe make_recipe(std::uint64_t seed, int p);
/// Elements that rank `from` sends to rank `to`.
count_t count(const recipe& r, int from, int to) noexcept;
/// Of the types in all_types(): that of the block that `from` sends to `to`.
std::size_t type_number(const recipe& r, int from, int to) noexcept;
/// The caller's options; the recipe must outlive them.
options options_of(const recipe& r) noexcept;

/// Sets a field; false when it was so already.
template <class Field, class Value>
bool changed(Field& field, Value value) {
  if (field == value) return false;
  field = value;
  return true;
}

/// The first ways in which any recipe becomes simpler: what the program does around the call, and its memory limit.
inline constexpr int program_simplifications = 3;
template <class Recipe>
bool simplify_program(Recipe& r, int way) {
  if (way == 0) return changed(r.beside, company::nothing);
  return way == 1 ? changed(r.delays, false) : changed(r.memory, limit::none);
}

/// Makes the recipe simpler in one way of `simplifications`; false when it is already.
inline constexpr int simplifications = 16;
bool simplify(recipe& r, int way);

/// "alltoallv", "alltoallv in place", …
std::string form_name(const recipe& r);
/// The whole recipe, for a reader.
std::string describe(const recipe& r);

}  // namespace taquin::soak
