// The error that an interface on top of the C API found in this rank's arguments, until the next call reports it.
#pragma once

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// The text that TAQUIN_Set_invalid_argument set on this thread, or null; forgotten from now on.
const char* take_invalid_text() noexcept;

/// The exchange, made invalid by the text that was set, or by a datatype that was not committed.
exchange with_invalid_text(exchange x) noexcept;

}  // namespace taquin::detail
