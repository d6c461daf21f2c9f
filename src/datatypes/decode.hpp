// The structure of a datatype, decoded by MPI_Type_get_contents and simplified.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "mpi/owned.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A loop as in type_map, while it is made.
struct tree {
  count_t offset = 0;
  count_t count = 1;
  count_t stride = 0;
  count_t length = 0;
  std::vector<tree> children{};
  [[nodiscard]] bool empty() const { return length == 0 && children.empty(); }
  [[nodiscard]] bool one_run() const { return length > 0 && count == 1; }
};

/// `count` of a type without gaps.
struct signature {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  count_t count = 0;
  mpi::datatype owner{};
};

struct decoded {
  tree data;
  signature sign;
};

/// Loops of a tree, itself included.
std::size_t loops_of(const tree& t) noexcept;

/// Loops that a decoded type may have: 10 MB of them, which it keeps, and twice as much while it is decoded.
constexpr std::size_t most_loops = std::size_t{1} << 18U;

/// Null if the type has more loops, or a constructor that is not known here, newer than MPI 4.0.
std::optional<decoded> decode_type(MPI_Datatype type);

}  // namespace taquin::detail
