// What an interface on top of the C API found wrong with this rank's arguments, until the next call reports it.
#pragma once

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// What TAQUIN_Set_fault set on this thread, or null; forgotten from now on.
const char* take_fault() noexcept;

/// The exchange with that fault, where there is one.
inline exchange with_fault(exchange x) noexcept {
  if (const char* fault = take_fault(); fault != nullptr) invalid_exchange::set(x, fault);
  return x;
}

}  // namespace taquin::detail
