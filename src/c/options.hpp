// The C API's options: an attribute of the communicator.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "taquin/options.hpp"

namespace taquin::detail {

/// Options that own their names and their nodes, so that they may outlive the caller's.
struct stored_options {
  std::string algorithm{"auto"};
  std::string inner{options{}.inner};
  std::string levels{options{}.levels};
  std::vector<int> nodes{};
  options values{};
  [[nodiscard]] options view() const noexcept {
    options o = values;
    o.algorithm = algorithm;
    o.inner = inner;
    o.levels = levels;
    o.nodes = nodes;
    return o;
  }
};

/// What TAQUIN_Comm_set_options set on `comm`, or the defaults. The name lives as long as the setting.
options options_of(MPI_Comm comm);

/// The same with the hints of `info`, which may be MPI_INFO_NULL, on top. Throws usage_error for a hint's value that is
/// not what its key asks for.
stored_options options_of(MPI_Comm comm, MPI_Info info);

}  // namespace taquin::detail
