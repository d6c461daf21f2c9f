#include "c/invalid_text.hpp"

#include <utility>

#include "taquin/taquin.h"

namespace {
thread_local const char* pending = nullptr;
}

const char* taquin::detail::take_invalid_text() noexcept { return std::exchange(pending, nullptr); }

void TAQUIN_Set_invalid_argument(const char* what) { pending = what; }
