// Messages of the preload library on standard error.
#pragma once

#include <cstdio>
#include <string_view>

namespace taquin::interpose {

/// One line of both parts. It allocates nothing, because memory may be exhausted.
inline void print_message(std::string_view what, std::string_view more = "") noexcept {
  std::fprintf(stderr, "taquin: %.*s%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(more.size()),
               more.data());
}

}  // namespace taquin::interpose
