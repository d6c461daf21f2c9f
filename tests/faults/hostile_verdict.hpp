// The end of a call in which one rank does harm, as ranks report it to each other.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace taquin::soak {

/// How a call ended on one rank.
enum class ending : std::int32_t {
  right,
  refused,  ///< by an error that all ranks have
  code,     ///< of the C API: the rank of the error is not reported
  alone,    ///< by an error of this rank's
  own,      ///< by what the program's own code has thrown
  away      ///< it did not come
};

struct verdict {
  ending how = ending::right;
  std::int32_t mpi_class = MPI_SUCCESS;
  std::int32_t untouched = 0;
  std::int32_t happened = 0;  ///< what was to go wrong did
  std::array<char, 240> text{};
};

inline void print_message(verdict& v, ending how, int mpi_class, const char* text) {
  v.how = how;
  v.mpi_class = mpi_class;
  std::strncpy(v.text.data(), text, v.text.size() - 1);
}

/// A line for each rank.
inline std::string text_of(std::span<const verdict> all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format(
        "\n    rank {}: {}{}", i,
        std::array{"right", "refused", "code", "alone", "own", "away"}.at(static_cast<std::size_t>(all[i].how)),
        all[i].text[0] != 0 ? fmt::format(" ({}: {})", all[i].mpi_class, all[i].text.data()) : "");
  return text;
}

}  // namespace taquin::soak
