// The language that the C++ headers need. Compilers of older ones get one sentence, not an error for each line.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "taquin's C++ headers need C++20: compile with -std=c++20. The C API, taquin.h, has no such need."
#include "compile-with-c++20"  // no such file: compilers continue after #error, but not after this
#endif
