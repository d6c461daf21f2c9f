// Which MPI library a program uses.
#pragma once

#include <filesystem>
#include <string>

namespace taquin::cli {

/// "openmpi", "mpich" or "abi" (the standard ABI of MPI 5), by the libraries that the program needs, transitively.
/// Empty for scripts and for programs that load MPI at run time.
std::string mpi_of(const std::filesystem::path& program);

}  // namespace taquin::cli
