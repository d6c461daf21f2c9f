// Time that a rank spends on shared memory, where ranks are simulated: SimGrid's clock advances in messages only. With
// real ranks these functions do nothing.
#pragma once

#include <cstddef>
#ifdef TAQUIN_SMPI
#include <ctime>
#endif

namespace taquin::mpi {

#ifdef TAQUIN_SMPI
constexpr bool simulated = true;
constexpr std::size_t copied_in_a_nanosecond = 8;        // bytes, by one core among others that copy as well
constexpr std::size_t cache_line_of_another_core = 100;  // nanoseconds

inline void spend(std::size_t nanoseconds) noexcept {
  const std::timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(nanoseconds)};
  if (nanoseconds > 0) nanosleep(&time, nullptr);
}
#else
constexpr bool simulated = false;
constexpr std::size_t copied_in_a_nanosecond = 1;
constexpr std::size_t cache_line_of_another_core = 0;

inline void spend(std::size_t) noexcept {}
#endif

/// Copies of so many bytes in all, to or from memory that is shared.
inline void spend_on_copies(std::size_t bytes) noexcept { spend(bytes / copied_in_a_nanosecond); }
/// So many flags, or short records, that other ranks have written.
inline void spend_on_cache_lines(std::size_t count) noexcept { spend(count * cache_line_of_another_core); }

}  // namespace taquin::mpi
