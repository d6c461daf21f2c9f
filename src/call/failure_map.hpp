// The map of a thread's last aborted call, for failure::blocks().
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "taquin/failure.hpp"

namespace taquin::detail {

/// Keeps the map of the call that has failed.
void keep_map(failure::block_map&& map) noexcept;
/// Must be called when another call begins: forgets the map of the last one.
void forget_map() noexcept;

/// The same with a function, which makes the map once, when the program requests it.
void keep_map(std::function<failure::block_map()>&& make) noexcept;
/// The map that is kept, which is forgotten.
failure::block_map take_map() noexcept;

/// Keeps the map, or the function, that `make` returns. Without memory for it the map is not known.
template <class Make>
void keep_map_of(Make make) noexcept {
  forget_map();
  try {
    keep_map(make());
  } catch (const std::exception&) {
  }
}

/// Data at these places were being moved when the call failed. They may be damaged, whatever the map states.
void doubt(failure::block_map& map, count_t at, count_t length);

/// Adds a part. If it continues the last one, that one becomes longer.
void append(std::vector<failure::part>& to, const failure::part& p);

}  // namespace taquin::detail
