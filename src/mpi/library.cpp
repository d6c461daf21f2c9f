#include "mpi/library.hpp"

#include <array>
#include <string_view>

#if !defined(OMPI_MAJOR_VERSION) && !defined(MPICH_NAME)
namespace taquin::mpi {

library running_library() noexcept {
  static const library runs = [] {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    if (PMPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return library::other;
    const std::string_view name(text.data());
    if (name.find("Open MPI") != std::string_view::npos) return library::open_mpi;
    return name.find("MPICH") != std::string_view::npos ? library::mpich : library::other;
  }();
  return runs;
}

}  // namespace taquin::mpi
#endif
