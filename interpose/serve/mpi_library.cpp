#include "interpose/serve/mpi_library.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "interpose/say.hpp"

namespace taquin::interpose {

namespace {

// The beginning of the running library's description. Versions of one library that share a soname share handles.
#if defined(OPEN_MPI)
constexpr std::string_view built_for = "Open MPI";
#elif defined(MPICH)
constexpr std::string_view built_for = "MPICH";
#else
constexpr std::string_view built_for = "MPI's standard ABI";  // which any library may have
#endif
constexpr bool built_for_any = built_for == "MPI's standard ABI";

// Before handles are valid: from variables of launchers.
bool first_process() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

// Whether the program's handles are those of MPI's standard ABI, whichever library stands behind it.
bool runs_by_the_standard_abi() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&PMPI_Get_library_version), &info) != 0 && info.dli_fname != nullptr &&
         std::string_view(info.dli_fname).find("libmpi_abi.") != std::string_view::npos;
}

bool is_named_so(std::string_view runs) {
  if (runs.find(built_for) != std::string_view::npos) return true;
  // Libraries that follow MPICH's ABI.
  if (built_for == "MPICH")
    for (const char* kin : {"MVAPICH", "Intel(R) MPI", "CRAY MPICH"})
      if (runs.find(kin) != std::string_view::npos) return true;
  return false;
}

}  // namespace

bool is_the_library_built_for() noexcept {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 8192> text{};  // another library's may be longer
  int length = 0;
  if (PMPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return false;
  const std::string_view runs(text.data());
  const bool by_abi = runs_by_the_standard_abi();
  if (by_abi == built_for_any && (by_abi || is_named_so(runs))) return true;
  if (first_process())
    print_message("this preloaded library was built for " + std::string(built_for) + ", the program runs " +
                  std::string(runs.substr(0, runs.find_first_of(",\n"))) + (by_abi ? " by MPI's standard ABI" : "") +
                  "; taquin stands aside ('taquin wrap' preloads the right one)");
  return false;
}

}  // namespace taquin::interpose
