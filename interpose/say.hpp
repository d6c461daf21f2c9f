// What the preloaded library has to say, on standard error.
#pragma once

#include <cstdio>
#include <string>

namespace taquin::interpose {

inline void say(const std::string& text) noexcept { std::fprintf(stderr, "taquin: %s\n", text.c_str()); }

}  // namespace taquin::interpose
