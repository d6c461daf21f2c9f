// The C API's map of data that are whole after a failure.
#include "taquin/failure.hpp"

#include <cstddef>
#include <type_traits>

#include "c/block_map.hpp"
#include "c/translate.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

using taquin::failure::part;
using taquin::failure::state;

// Both describe the same bytes.
static_assert(sizeof(part) == sizeof(TAQUIN_Part) && std::is_standard_layout_v<part>);
static_assert(offsetof(part, what) == offsetof(TAQUIN_Part, state) && sizeof(state) == sizeof(int));
static_assert(offsetof(part, peer) == offsetof(TAQUIN_Part, peer));
static_assert(offsetof(part, offset) == offsetof(TAQUIN_Part, offset) && sizeof(MPI_Count) == sizeof(part::offset));
static_assert(offsetof(part, length) == offsetof(TAQUIN_Part, length));
static_assert(offsetof(part, at) == offsetof(TAQUIN_Part, at));
static_assert(static_cast<int>(state::stands) == TAQUIN_STANDS && static_cast<int>(state::arrived) == TAQUIN_ARRIVED &&
              static_cast<int>(state::staged) == TAQUIN_STAGED && static_cast<int>(state::missing) == TAQUIN_MISSING &&
              static_cast<int>(state::unknown) == TAQUIN_UNKNOWN &&
              static_cast<int>(state::displaced) == TAQUIN_DISPLACED);

TAQUIN_Block_map taquin::detail::as_c(const failure::block_map& map) noexcept {
  const auto parts = [](const std::vector<part>& list) { return reinterpret_cast<const TAQUIN_Part*>(list.data()); };
  const auto count = [](std::size_t n) { return static_cast<MPI_Count>(n); };
  return {.known = map.known ? 1 : 0,
          .unit_bytes = static_cast<MPI_Count>(map.unit_bytes),
          .outgoing_size = count(map.outgoing.size()),
          .outgoing = parts(map.outgoing),
          .incoming_size = count(map.incoming.size()),
          .incoming = parts(map.incoming),
          .staged_units = map.unit_bytes > 0 ? count(map.staged.size()) / static_cast<MPI_Count>(map.unit_bytes) : 0,
          .staged = map.staged.data()};
}

extern "C" int TAQUIN_Failure_blocks(TAQUIN_Block_map* map) {
  return taquin::detail::guarded(MPI_COMM_NULL, [&] {
    if (map == nullptr) throw taquin::usage_error("null address for the map", MPI_ERR_ARG);
    *map = taquin::detail::as_c(taquin::failure::blocks());
  });
}
