// A plan's own datatypes: its callers may free theirs once it is made.
#pragma once

#include <array>
#include <memory_resource>
#include <vector>

#include "mpi/owned.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class owned_types {
 public:
  explicit owned_types(std::pmr::memory_resource* memory) : of_blocks_(memory) {}

  /// Replaces all derived types of `x` by duplicates. Those of alltoallw are in `elements`, to which the sides of `x`
  /// refer. Takes a handle for each of `elements` from the memory.
  void keep(exchange& x, std::pmr::vector<element>& elements);

 private:
  std::array<mpi::datatype, 2> of_sides_;
  std::pmr::vector<mpi::datatype> of_blocks_;
};

}  // namespace taquin::detail
