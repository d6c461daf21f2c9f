// The arguments of a redistribution between layouts, and their errors.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <string>

#include "base/invalid_argument.hpp"
#include "layouts/copy_chunk.hpp"
#include "taquin/exchange.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// Dimensions of an array.
inline constexpr std::size_t most_dimensions = 32;

struct layout_arguments {
  const void* from_array = nullptr;
  std::size_t from_size = unlimited;  ///< elements; unlimited: not known
  const layout* from = nullptr;
  void* to_array = nullptr;
  std::size_t to_size = unlimited;
  const layout* to = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  const char* invalid_text = nullptr;  ///< of the interface on top; null: none
  written_part part{};                 ///< of a matrix
  bool in_one_array = false;           ///< source and target have the same storage
  std::size_t held = 0;                ///< bytes of scratch memory that the interface on top has already
};

/// The error in the axes, or in the part that moves between two valid layouts; empty: none. Local.
std::string invalid_part(const layout& from, const layout& to, const layout_options& o);

/// Of this rank's arguments. Local.
std::optional<invalid_argument> check(const layout_arguments& x, const layout_options& o, const element& e, int rank,
                                      int ranks);

}  // namespace taquin::detail
