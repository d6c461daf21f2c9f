// The effects of a test's instruments. A test that arms a fault layer or reads a message counter is worth nothing if no
// fault reached the code or no message was counted, so main() fails it (mpi_main.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace taquin::test::instruments {

enum class kind : std::uint8_t { fault_layer, message_counter, kinds };
inline constexpr std::size_t number = static_cast<std::size_t>(kind::kinds);
inline constexpr std::array<const char*, number> names{"fault layer", "message counter"};

struct use {
  std::int64_t used = 0;   ///< faults armed, counters read
  std::int64_t fired = 0;  ///< of these, faults that reached the code, counters that saw a message
};

struct counters {
  std::atomic<std::int64_t> used{0}, fired{0};
};
inline std::array<counters, number> all{};
/// Set by a test whose instrument may rightly see nothing, on all ranks; main() resets it.
inline std::atomic<bool> idle_is_right{false};

inline void used(kind which) noexcept { ++all[static_cast<std::size_t>(which)].used; }
inline void fired(kind which) noexcept { ++all[static_cast<std::size_t>(which)].fired; }

/// This process's, from its start.
inline std::array<use, number> totals() noexcept {
  std::array<use, number> result;
  for (std::size_t k = 0; k < number; ++k) result[k] = {all[k].used.load(), all[k].fired.load()};
  return result;
}

}  // namespace taquin::test::instruments
