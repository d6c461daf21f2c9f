// What an interface on top of the C API found wrong with this rank's arguments, until the next call reports it.
#pragma once

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// What TAQUIN_Set_invalid_argument set on this thread, or null; forgotten from now on.
const char* take_invalid_text() noexcept;

/// The exchange, made invalid by that text where there is one.
inline exchange with_invalid_text(exchange x) noexcept {
  if (const char* text = take_invalid_text(); text != nullptr) invalid_exchange::set(x, text);
  return x;
}

}  // namespace taquin::detail
