// The name of a machine in its profile.
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <string_view>
#include <thread>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "select/profile.hpp"

namespace taquin::detail {

std::string library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  int length = 0;
  TAQUIN_MPI(PMPI_Get_library_version(library.data(), &length));
  const std::string_view text(library.data(), as_size(length));
  return std::string(text.substr(0, text.find_first_of(",\n")));
}

std::string machine_name() { return fmt::format("{} cores, {}", std::thread::hardware_concurrency(), library_name()); }

}  // namespace taquin::detail
