// The properties of one call in which a rank does harm, known to all ranks of a communicator: everything follows from a
// seed and the number of ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "soak/random.hpp"
#include "taquin/options.hpp"

namespace taquin::soak {

/// The function that is called.
enum class called : std::uint8_t { alltoall, alltoallv, alltoallw, in_place, redistribution, migration, sparse, kinds };
/// By which interface, and in how many steps. Calls that have one form only take the nearest.
enum class surface : std::uint8_t { blocking, steps, c_blocking, c_steps, kinds };
/// The harm of one rank.
enum class offence : std::uint8_t {
  none,
  memory,      ///< its n-th request for memory fails
  no_memory,   ///< the n-th and all that follow
  mpi_call,    ///< its n-th call of the MPI library fails
  argument,    ///< one of its arguments is invalid
  sizes,       ///< its sizes, or its map, do not match those of others
  limit,       ///< it allows too little memory
  thrown,      ///< its own code throws: a function, a container, an allocator
  absent,      ///< it does not come, and others have a timeout
  impatient,   ///< it has a timeout, and another rank is late
  dropped,     ///< it destroys what it has started
  other_call,  ///< it calls something else
  kinds
};

struct hostile_recipe {
  std::uint64_t seed = 0;
  int p = 1;
  called what = called::alltoallv;
  soak::surface by = surface::blocking;
  std::string_view algorithm = "auto";
  offence harm = offence::none;
  int offender = 0;
  int victim = 0;          ///< another rank, where there is one
  int step = 0;            ///< in which it happens, counted from 0, modulo the steps that there are
  int n = 0;               ///< which request or call fails
  int variant = 0;         ///< of the offence
  count_t most = 0;        ///< elements in a block
  int load = 0;            ///< how sizes differ
  bool symmetric = false;  ///< in place: as MPI_IN_PLACE
  bool warm = false;       ///< the communicator has had calls before
  bool delays = false;     ///< ranks come to each step at random times
  bool watched = false;    ///< run once more: nothing may be left of it
  std::size_t memory = unlimited;

  [[nodiscard]] bool in_c() const noexcept { return by == surface::c_blocking || by == surface::c_steps; }
  [[nodiscard]] bool in_steps() const noexcept { return by == surface::steps || by == surface::c_steps; }
  [[nodiscard]] bool is_exchange() const noexcept { return what <= called::in_place; }
};

/// Another recipe for every seed.
hostile_recipe make_hostile_recipe(std::uint64_t seed, int p);

/// Elements of the block from `from` to `to`: as its sender says, and as its receiver does.
count_t sent_count(const hostile_recipe& r, int from, int to) noexcept;
count_t expected_count(const hostile_recipe& r, int from, int to) noexcept;

/// Makes the recipe simpler in one way of `hostile_simplifications`; false when it is already.
inline constexpr int hostile_simplifications = 10;
bool simplify(hostile_recipe& r, int way);

/// The whole recipe, for a reader.
std::string describe(const hostile_recipe& r);
const char* name_of(called what) noexcept;
const char* name_of(offence harm) noexcept;

}  // namespace taquin::soak
