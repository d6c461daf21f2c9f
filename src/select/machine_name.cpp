// What a machine is called in its profile.
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <string_view>
#include <thread>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "select/profile.hpp"

namespace taquin::detail {

std::string machine_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  int length = 0;
  TAQUIN_MPI(PMPI_Get_library_version(library.data(), &length));
  const std::string_view text(library.data(), as_size(length));
  return fmt::format("{} cores, {}", std::thread::hardware_concurrency(), text.substr(0, text.find_first_of(",\n")));
}

}  // namespace taquin::detail
