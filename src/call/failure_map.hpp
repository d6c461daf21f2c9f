// The map of the last call of a thread that has failed in the middle, for failure::blocks().
#pragma once

#include <exception>
#include <vector>

#include "taquin/failure.hpp"

namespace taquin::detail {

void keep_map(failure::block_map&& map) noexcept;
/// Another call begins to be prepared: the last one's map is not known any more.
void forget_map() noexcept;

/// Keeps what `make` gives; where there is no memory for it that is said there.
template <class Make>
void keep_map_of(Make make) noexcept {
  forget_map();
  try {
    keep_map(make());
  } catch (const std::exception&) {
  }
}

/// What lies at these places is not whole, whatever the map says: data were being moved there when a call failed.
void doubt(failure::block_map& map, count_t at, count_t length);

/// Adds a part, to the last one where it goes on with it.
void append(std::vector<failure::part>& to, const failure::part& p);

}  // namespace taquin::detail
