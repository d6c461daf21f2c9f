// The interface of a fuzzer: one function that gets any bytes and must neither crash nor leak, whatever they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

/// Called by libFuzzer and by replay.cpp for each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace taquin::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Something that must hold does not.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace taquin::fuzz
