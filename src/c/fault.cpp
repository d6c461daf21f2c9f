#include "c/fault.hpp"

#include <utility>

#include "taquin/taquin.h"

namespace {
thread_local const char* pending = nullptr;
}

const char* taquin::detail::take_fault() noexcept { return std::exchange(pending, nullptr); }

void TAQUIN_Set_fault(const char* what) { pending = what; }
